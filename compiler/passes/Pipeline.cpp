// Pipelines: MLIR parses them and runs each pass; what they need of each other is checked here.
#include "compiler/passes/Pipeline.h"

#include "compiler/support/Cancellation.h"
#include "compiler/support/Diagnostics.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/ADT/StringExtras.h"
#include <chrono>

using namespace mlir;

namespace fathom {
namespace {

constexpr ErrorCode usage{2001};
constexpr StringLiteral listsPasses = "'fathom passes' prints the default pipeline, 'fathom passes --list' all passes";

// The pass that was probably meant, or an empty string.
StringRef nearestPass(StringRef name) {
  StringRef best;
  unsigned bestDistance = name.size() / 3 + 2;
  for (const auto &pass : registeredPasses())
    if (unsigned distance = name.edit_distance(pass->getArgument(), /*AllowReplacements=*/true, bestDistance);
        distance < bestDistance)
      best = pass->getArgument(), bestDistance = distance;
  return best;
}

// What MLIR's parser said, in one line, without the place in the text and the lines that show it.
std::string shortened(StringRef said) {
  if (said.contains(": error: "))
    return said.split(": error: ").second.split('\n').first.str();
  SmallVector<StringRef> lines;
  said.split(lines, '\n', -1, /*KeepEmpty=*/false);
  for (StringRef &line : lines)
    line.consume_front("<Pass-Options-Parser>: ");
  return llvm::join(lines, "; ");
}

LogicalResult refuseText(StringRef said, Location loc) {
  std::string message = shortened(said);
  StringRef name = StringRef(message).split('\'').second.split('\'').first;
  if (!StringRef(message).contains("does not refer to a registered pass"))
    return hint(emitError(loc, usage) << "the pipeline of passes cannot be read: " << message, listsPasses);
  if (name.empty())
    return hint(emitError(loc, usage) << "a pass of the pipeline has no name", "passes have one comma between them");
  StringRef meant = nearestPass(name);
  return hint(emitError(loc, usage) << "there is no pass '" << name << "'",
              meant.empty() ? listsPasses.str() : "did you mean '" + meant.str() + "'?");
}

std::string whoGives(Fact fact) {
  std::string names;
  for (const auto &pass : registeredPasses())
    if (pass->gives() & fact)
      names += (names.empty() ? "'" : " or '") + pass->getArgument().str() + "'";
  return names;
}

// `ender` is the pass that ended the fact, or null where it never held.
LogicalResult refuseOrder(GraphPass &pass, const FactText &missing, GraphPass *ender, Location loc) {
  auto error = emitError(loc, usage) << "pass '" << pass.getArgument() << "' needs " << missing.name << " ("
                                     << missing.meaning << "), which ";
  if (ender)
    error << "pass '" << ender->getArgument() << "' in front of it ended";
  else
    error << "no pass in front of it gives";
  // What every imported graph has is lost rather than missing.
  std::string givers = missing.fact & importedFacts ? "" : whoGives(missing.fact);
  if (!givers.empty())
    return hint(std::move(error), "put " + givers + " in front of it");
  return hint(std::move(error), "put '" + pass.getArgument() + "' in front of '" +
                                    (ender ? ender->getArgument() : pass.getArgument()) + "'");
}

class OrderCheck {
public:
  OrderCheck(Facts facts, Location loc) : facts(facts), loc(loc) {}

  LogicalResult check(const Pipeline &pipeline) {
    for (GraphPass *pass : pipeline.list()) {
      if (StringRef problem = pass->problem(); !problem.empty())
        return hint(emitError(loc, usage) << "pass '" << pass->getArgument() << "': " << problem, listsPasses);
      for (const FactText &text : factTable())
        if (pass->needs() & ~facts & text.fact)
          return refuseOrder(*pass, text, enders.lookup(text.fact), loc);
      facts = (facts & ~pass->ends()) | pass->gives();
      for (const FactText &text : factTable())
        if (pass->ends() & text.fact)
          enders[text.fact] = pass;
      if (!pass->inner().empty() && failed(checkInner(pass->inner())))
        return failure();
    }
    return success();
  }

  Facts facts;

private:
  // What is run several times must be able to follow itself.
  LogicalResult checkInner(StringRef text) {
    FailureOr<Pipeline> round = Pipeline::parse(text, loc);
    if (failed(round))
      return failure();
    inners.push_back(std::make_unique<Pipeline>(std::move(*round)));
    const Pipeline &inner = *inners.back();
    return success(succeeded(check(inner)) && succeeded(check(inner)));
  }

  Location loc;
  DenseMap<unsigned, GraphPass *> enders;        // of facts
  std::vector<std::unique_ptr<Pipeline>> inners; // which enders are parts of
};

} // namespace

FailureOr<Pipeline> Pipeline::parse(StringRef text, Location loc) {
  registerPasses();
  OpPassManager passes(ModuleOp::getOperationName());
  std::string said;
  llvm::raw_string_ostream stream(said);
  // An empty pipeline is one, too.
  if (!text.trim().empty() && failed(parsePassPipeline(text, passes, stream)))
    return refuseText(said, loc);
  for (Pass &pass : passes.getPasses())
    if (!asGraphPass(pass))
      return LogicalResult(
          hint(emitError(loc, usage) << "the pipeline of passes cannot be read: it has passes in parentheses",
               "all passes are for the whole module, and follow each other with commas between them"));
  return Pipeline(std::move(passes), loc);
}

FailureOr<Facts> Pipeline::check(Facts facts) const {
  OrderCheck order(facts, loc);
  if (failed(order.check(*this)))
    return failure();
  return order.facts;
}

std::vector<GraphPass *> Pipeline::list() const {
  std::vector<GraphPass *> list;
  for (Pass &pass : const_cast<OpPassManager &>(passes).getPasses())
    list.push_back(asGraphPass(pass));
  return list;
}

size_t Pipeline::firstThatGives(Fact fact) const {
  std::vector<GraphPass *> all = list();
  return llvm::find_if(all, [&](GraphPass *pass) { return pass->gives() & fact; }) - all.begin();
}

size_t Pipeline::placeOf(StringRef name) const {
  std::vector<GraphPass *> all = list();
  return llvm::find_if(all, [&](GraphPass *pass) { return pass->getArgument() == name; }) - all.begin();
}

std::vector<StringRef> Pipeline::names() const {
  std::vector<StringRef> names;
  for (GraphPass *pass : list()) {
    names.push_back(pass->getArgument());
    if (pass->inner().empty())
      continue;
    if (FailureOr<Pipeline> inner = parse(pass->inner(), loc); succeeded(inner))
      llvm::append_range(names, inner->names());
  }
  return names;
}

bool Pipeline::has(StringRef name) const { return llvm::is_contained(names(), name); }

LogicalResult Pipeline::run(ModuleOp module, PassContext &context, size_t from, size_t to) {
  setContext(passes, context);
  std::vector<GraphPass *> all = list();
  size_t layouts = firstThatGives(Layouts);
  for (size_t i = from; i < to; ++i) {
    GraphPass *pass = all[i];
    if (isCancelled())
      return failure();
    if (context.idle.contains(pass->getArgument()))
      continue;
    auto start = std::chrono::steady_clock::now();
    PassManager one(module.getContext(), ModuleOp::getOperationName());
    // What follows is not for the verifier: kernels number their symbols themselves, so that a call's types differ from
    // its callee's.
    one.enableVerifier(i < layouts);
    one.addPass(pass->clone());
    if (failed(one.run(module)))
      return failure();
    std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    // Those that a pass runs have told themselves.
    if (context.onPass && pass->inner().empty())
      context.onPass(pass->getArgument(), seconds.count());
  }
  return success();
}

void setContext(OpPassManager &passes, PassContext &context) {
  for (Pass &pass : passes.getPasses())
    if (GraphPass *ours = asGraphPass(pass))
      ours->setContext(context);
}

} // namespace fathom
