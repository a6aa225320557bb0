// The policies, and how a sequence is completed.
#include "compiler/driver/Policies.h"

#include "compiler/driver/DefaultPasses.h"
#include "compiler/support/Diagnostics.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace fathom {

// The levels have the passes that TVM 0.8 has there, with Fathom's own at level 3. Those of the paper (Verma et al.,
// "Towards Neural Architecture-Aware Exploration of Compiler Optimizations in a Deep Learning {graph} Compiler", tables
// 4 and 5) are without those that Fathom has no pass for.
ArrayRef<Policy> policyTable() {
  static const Policy table[] = {
      {"default", "what a compilation takes where nothing else is said", ""},
      {"none", "what a compilation cannot do without, and a kernel for each op", ""},
      {"O0", "what makes the graph smaller and costs nothing, and a kernel for each op",
       "simplify-expr, fold-explicit-padding"},
      {"O1", "O0, without dead code, and with fusion",
       "simplify-expr, fold-explicit-padding, dead-code-elimination, fuse-ops"},
      {"O2", "O1, with constants and sizes computed ahead",
       "repeat{rounds=4 passes={decompose-quantized, canonicalize-ops, simplify-inference, simplify-expr, "
       "fold-explicit-padding, "
       "dead-code-elimination, fold-constant, dynamic-to-static}}, fuse-ops"},
      {"O3", "O2, with algorithms, equal ops, scales in weights, loops and pieces",
       "repeat{rounds=4 passes={decompose-quantized, canonicalize-ops, simplify-inference, simplify-expr, "
       "fold-explicit-padding, "
       "canonicalize-cast, eliminate-common-subexpr, dead-code-elimination, hoist-invariants, forward-fold-scale-axis, "
       "nest-concats, "
       "fold-constant, dynamic-to-static}}, alter-op-layout, fold-constant, convert-layout, place-pieces, fuse-ops"},
      {"paper-bl", "the paper's baseline: exactly what has level 3",
       "alter-op-layout, canonicalize-cast, canonicalize-ops, convert-layout, defuse-ops, eliminate-common-subexpr"},
      {"paper:AS-0", "the paper's first selection for an architecture (table 5)",
       "alter-op-layout, fuse-ops, simplify-expr, fold-constant, dead-code-elimination, remove-unused-functions"},
      {"paper:AS-1", "the paper's second one",
       "simplify-expr, fuse-ops, alter-op-layout, dead-code-elimination, fold-constant, remove-unused-functions"},
      {"paper:PO-0", "the paper's random selections (table 5)",
       "alter-op-layout, combine-parallel-conv2d, defuse-ops, dynamic-to-static, canonicalize-ops, canonicalize-cast"},
      {"paper:PO-1", "", "canonicalize-cast, alter-op-layout, defuse-ops, combine-parallel-conv2d"},
      {"paper:PO-2", "",
       "combine-parallel-conv2d, eliminate-common-subexpr, simplify-fc-transpose, canonicalize-ops, defuse-ops"},
      {"paper:PO-3", "", "combine-parallel-dense, alter-op-layout, combine-parallel-conv2d, canonicalize-ops"},
      {autoPolicy, "the default without what cannot change the graph at hand, as its ops and edges show", ""},
  };
  return table;
}

namespace {

// In this order a pass's needs are met: what a giver ends is given behind it.
constexpr Fact order[] = {Unquantized, Inferring, Canonical, Layouts, Names, Results, Groups, Kernels};

StringRef giverOf(Fact fact) {
  switch (fact) {
  case Unquantized:
    return "decompose-quantized";
  case Inferring:
    return "simplify-inference";
  case Canonical:
    return "canonicalize-ops";
  case Names:
    return "name-ops";
  case Layouts:
    return "convert-layout";
  case Results:
    return "store-results";
  case Groups:
    return "separate-ops";
  case Kernels:
    return "outline-kernels";
  default:
    return "";
  }
}

class Completion {
public:
  void add(GraphPass &pass) {
    need(pass.needs());
    std::string text;
    llvm::raw_string_ostream stream(text);
    pass.printAsTextualPipeline(stream);
    steps.push_back(text);
    follow(pass);
  }

  // Passes in front of the next one, so that what is not so yet of these facts is.
  void need(Facts facts) {
    for (Fact fact : order)
      if (facts & ~known & fact)
        for (const auto &pass : registeredPasses())
          if (pass->getArgument() == giverOf(fact))
            add(*pass);
    // Of what others have ended meanwhile there is a giver further down in the order.
    if (facts & ~known & (Computable | Names))
      need(facts);
  }

  std::vector<std::string> steps;

private:
  void follow(GraphPass &pass) {
    if (!pass.inner().empty())
      if (FailureOr<Pipeline> inner = Pipeline::parse(pass.inner(), UnknownLoc::get(&context)); succeeded(inner))
        for (GraphPass *one : inner->list())
          follow(*one);
    known = (known & ~pass.ends()) | pass.gives();
  }

  MLIRContext context;
  Facts known = importedFacts;
};

} // namespace

std::string completed(const Pipeline &passes) {
  Completion completion;
  auto isOfLayouts = [](GraphPass *pass) {
    return (pass->needs() & (Layouts | Results | Groups)) || (pass->gives() & Layouts);
  };
  for (GraphPass *pass : passes.list())
    if (!isOfLayouts(pass))
      completion.add(*pass);
  for (GraphPass *pass : passes.list())
    // Where nothing was fused, nothing needs to be taken apart.
    if (isOfLayouts(pass) && (pass->getArgument() != "defuse-ops" || passes.has("fuse-ops")))
      completion.add(*pass);
  completion.need(Kernels);
  return llvm::join(completion.steps, ", ");
}

FailureOr<std::string> pipelineText(StringRef passes, Location loc) {
  passes = passes.trim();
  if (passes.empty() || passes == "default" || passes == autoPolicy)
    return defaultPasses().str();
  if (passes.consume_front(defaultAndPrefix)) {
    std::string more = passes.str();
    std::replace(more.begin(), more.end(), '+', ',');
    return failed(Pipeline::parse(more, loc)) ? FailureOr<std::string>(failure()) : defaultPassesWith(more);
  }
  bool isList = passes.consume_front(completedPrefix);
  const Policy *policy = nullptr;
  for (const Policy &one : policyTable())
    if (!isList && one.name == passes)
      policy = &one;
  // No pass has such a name.
  bool isNamed = passes.starts_with("paper") || (passes.size() == 2 && passes.starts_with("O"));
  if (!policy && !isList && isNamed) {
    std::vector<StringRef> names;
    for (const Policy &one : policyTable())
      names.push_back(one.name);
    return LogicalResult(hint(emitError(loc, ErrorCode(2001)) << "there is no policy '" << passes << "'",
                              "there are " + llvm::join(names, ", ")));
  }
  if (!policy && !isList)
    return passes.str();
  FailureOr<Pipeline> list = Pipeline::parse(policy ? policy->passes : passes, loc);
  if (failed(list))
    return failure();
  return completed(*list);
}

} // namespace fathom
