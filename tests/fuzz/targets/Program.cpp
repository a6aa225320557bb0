// Any text as a program: printed and read back it is the same, and what types and evaluates it never ends by an
// internal error.
#include "Target.h"

#include "compiler/functional/lower/Evaluate.h"
#include "compiler/functional/syntax/Parser.h"
#include "compiler/functional/syntax/Printer.h"
#include "compiler/support/LargeStack.h"
#include "mlir/IR/MLIRContext.h"

using namespace mlir;
using namespace fathom::functional;

static std::string printed(const Program &program) {
  std::string text;
  llvm::raw_string_ostream out(text);
  print(program, out);
  return text;
}

static void checkPrinting(const Program &program, const Source &source) {
  std::string text = printed(program);
  std::unique_ptr<Program> again = parse(text, source);
  if (!again)
    fathom::fuzz::fail("a printed program is refused:\n" + text);
  if (printed(*again) != text)
    fathom::fuzz::fail("a printed program reads back as another:\n" + text);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  llvm::StringRef text(reinterpret_cast<const char *>(data), size);
  MLIRContext context(MLIRContext::Threading::DISABLED);
  bool complained = false;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    complained |= diagnostic.getSeverity() == DiagnosticSeverity::Error;
    if (diagnostic.str().starts_with("[F7"))
      fathom::fuzz::fail(diagnostic.str());
  });
  Source source{UnknownLoc::get(&context), "input.fir"};
  fathom::onLargeStack([&] {
    std::unique_ptr<Program> program = parse(text, source);
    if (program)
      checkPrinting(*program, source);
    Typing typing(&context);
    bool fine =
        program && succeeded(infer(*program, source, typing)) && succeeded(Evaluator(source, typing, &context).run());
    if (!fine && !complained)
      fathom::fuzz::fail("refused without a word");
  });
  return 0;
}
