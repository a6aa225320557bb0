// Runs passes on the first graphs of their lit tests, which are part of the tool.
#include "tools/fathom/passes/PassExamples.h"

#include "compiler/driver/Compilation.h"
#include "compiler/driver/DiagnosticLog.h"
#include "compiler/passes/normalform/Words.h"
#include "compiler/support/Diagnostics.h"
#include "compiler/support/LargeStack.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;

namespace fathom {
namespace {

struct Example {
  StringRef pass, text;
};
constexpr Example examples[] = {
#include "tools/fathom/passes/PassExamples.inc"
};

// What a test says of its example: what runs before the pass, and whether places are to be seen.
struct Heading {
  StringRef first;
  bool withPlaces = false;
};
Heading headingOf(StringRef text) {
  Heading heading;
  while (text.starts_with("// ")) {
    auto [line, rest] = text.split('\n');
    if (line.consume_front("// example behind "))
      heading.first = line;
    heading.withPlaces |= line == "// example with places";
    text = rest;
  }
  return heading;
}

std::string textOf(mlir::ModuleOp module, bool withPlaces) {
  if (auto program = module->getAttrOfType<mlir::StringAttr>(normalform::programAttribute))
    return program.str();
  mlir::OpPrintingFlags flags;
  if (withPlaces)
    flags.enableDebugInfo().useLocalScope();
  std::string text;
  raw_string_ostream out(text);
  module.print(out, flags);
  return text + (StringRef(text).ends_with("\n") ? "" : "\n");
}

struct BeforeAndAfter {
  std::string before, after;
};

mlir::FailureOr<BeforeAndAfter> run(const Example &example, mlir::MLIRContext &context, const CompileOptions &options) {
  Heading heading = headingOf(example.text);
  mlir::Location loc = mlir::NameLoc::get(mlir::StringAttr::get(&context, example.pass));
  auto module = parseStage(example.pass, example.text, /*line=*/1, Calls::Fit, loc);
  auto compilation = Compilation::begin(options, loc);
  std::string text = heading.first.str() + (heading.first.empty() ? "" : ", ") + example.pass.str();
  auto pipeline = Pipeline::parse(text, loc);
  if (!module || failed(compilation) || failed(pipeline) || failed(pipeline->check(importedFacts)))
    return mlir::failure();
  (*compilation)->describe(*module, *pipeline);
  size_t last = pipeline->size() - 1;
  PassContext &known = (*compilation)->context;
  known.algorithms.folds = true; // as in a compilation, where weights are computed ahead
  BeforeAndAfter texts;
  if (failed(pipeline->run(*module, known, 0, last)))
    return mlir::failure();
  texts.before = textOf(*module, heading.withPlaces);
  if (failed(pipeline->run(*module, known, last, last + 1)))
    return mlir::failure();
  texts.after = textOf(*module, heading.withPlaces);
  return texts;
}

// All lines on the CPU that the examples are for, unless another one is asked for.
Expected<int> print(ArrayRef<Example> shown, OptionValues values,
                    function_ref<void(const Example &, BeforeAndAfter)> told) {
  std::unique_ptr<mlir::MLIRContext> context = createContext();
  DiagnosticLog log(*context, "", printDiagnostic);
  if (!values.has("target"))
    if (Error error = values.set(*findOption("target", PassesBit), "neoverse-v1"))
      return std::move(error);
  auto request = makeCompileRequest(values, *context, PassesBit);
  for (const Example &example : shown) {
    mlir::FailureOr<BeforeAndAfter> texts = mlir::failure();
    if (succeeded(request))
      onLargeStack([&] { texts = run(example, *context, request->options); });
    if (failed(texts))
      return log.exitCode();
    told(example, std::move(*texts));
  }
  return 0;
}

} // namespace

Expected<int> printPassExample(StringRef pass, const OptionValues &options) {
  const Example *found = find_if(examples, [&](const Example &example) { return example.pass == pass; });
  if (found == std::end(examples)) {
    SmallVector<StringRef> names = map_to_vector(examples, [](const Example &example) { return example.pass; });
    return fail(usageError, ("there is no example of a pass '" + pass + "'").str(), "there are " + join(names, ", "));
  }
  return print(*found, options, [](const Example &, const BeforeAndAfter &texts) {
    outs() << "// before\n" << texts.before << "\n// after\n" << texts.after;
  });
}

Expected<int> printPassExamples(const OptionValues &options) {
  outs() << "# Passes by example\n\nA small graph before and after each pass, for the CPU neoverse-v1; "
            "`fathom passes --example PASS` prints one, `--examples` this page.\n[The list of passes](passes.md) says "
            "what each needs and gives. Where passes run in front of it, because it needs what they give, these are "
            "named.\n";
  registerPasses();
  return print(examples, options, [](const Example &example, const BeforeAndAfter &texts) {
    StringRef does;
    for (const auto &pass : registeredPasses())
      if (pass->getArgument() == example.pass)
        does = pass->getDescription();
    StringRef first = headingOf(example.text).first;
    outs() << formatv("\n## {0}\n{1}.", example.pass, does);
    if (!first.empty())
      outs() << formatv(" Behind `{0}`.", first);
    outs() << "\n```\n" << texts.before << "```\n```\n" << texts.after << "```\n";
  });
}

} // namespace fathom
