// A branch with which what follows it is a mistake is not the one that is meant.
#include "compiler/import/RankChoice.h"
#include "compiler/support/ErrorCodeText.h"

using namespace mlir;

namespace fathom::importer {
namespace {

using Names = llvm::StringSet<>;

// One import of the model, and what was said meanwhile.
struct Attempt {
  OwningOpRef<ModuleOp> module;
  SmallVector<UnequalRanks> unequal;
  std::vector<Diagnostic> said;
  // The first mistake of the model, and in how many branches it lies. What is valid, but not supported, is none.
  std::optional<std::string> mistake;
  unsigned depth = 0;
};

Names with(const Names &names, ArrayRef<UnequalRanks> more) {
  Names all;
  for (const auto &name : names)
    all.insert(name.first());
  for (const UnequalRanks &met : more)
    all.insert(nodeName(met.node));
  return all;
}

void refuse(const UnequalRanks &met) {
  hint(emitError(met.node, ErrorCode::UnsupportedShape)
           << "an output is " << met.types << ", and only the run decides which; ranks must be known",
       met.isFromData ? "no option decides a condition that is computed from values of inputs: give both branches as "
                        "many dimensions, or make the condition a constant"
       : met.dim.empty() ? "export the model for sizes that decide the condition"
                         : "give a size that decides the condition: --dim " + met.dim + "=1, or a range like --dim " +
                               met.dim + "=2..8");
}

class RankChoice {
public:
  RankChoice(MLIRContext &context, const Opsets &opsets, MakeImporter makeImporter)
      : context(context), opsets(opsets), makeImporter(makeImporter) {}

  // With what is decided so far; every round decides about one more If at least.
  OwningOpRef<ModuleOp> import(Names larger) {
    Attempt made = attempt(larger);
    SmallVector<UnequalRanks> open = llvm::filter_to_vector<4>(
        made.unequal, [&](const UnequalRanks &met) { return !larger.contains(nodeName(met.node)); });
    if (open.empty() || (!made.mistake && !made.module))
      return finish(std::move(made));
    return made.mistake ? mend(std::move(made), larger, open) : confirm(std::move(made), larger, open);
  }

private:
  Attempt attempt(const Names &larger) {
    Attempt made;
    std::unique_ptr<Importer> importer = makeImporter(with(larger, {}));
    ScopedDiagnosticHandler listener(&context, [&](Diagnostic &diagnostic) {
      std::string message = diagnostic.str();
      std::optional<ErrorCode> code = takeErrorCode(message);
      if (!made.mistake && code && exitCodeFor(*code) == exitCodeFor(ErrorCode::BadShape)) {
        made.mistake = std::move(message);
        made.depth = importer->openBranches();
      }
      made.said.push_back(std::move(diagnostic));
      return success();
    });
    made.module = importer->run(opsets);
    made.unequal = llvm::to_vector(importer->unequalRanks());
    return made;
  }

  OwningOpRef<ModuleOp> finish(Attempt made) {
    for (Diagnostic &diagnostic : made.said)
      context.getDiagEngine().emit(std::move(diagnostic));
    return std::move(made.module);
  }

  // All of them, and each alone.
  static SmallVector<SmallVector<UnequalRanks>> choices(ArrayRef<UnequalRanks> open) {
    SmallVector<SmallVector<UnequalRanks>> sets{llvm::to_vector(open)};
    constexpr size_t most = 16; // imports of a hostile model
    for (const UnequalRanks &met : open.take_front(open.size() > 1 ? most : 0))
      sets.push_back({met});
    return sets;
  }

  // The smaller ranks make sense. They are what is meant if nothing else does.
  OwningOpRef<ModuleOp> confirm(Attempt made, const Names &larger, ArrayRef<UnequalRanks> open) {
    for (const SmallVector<UnequalRanks> &set : choices(open)) {
      Attempt other = attempt(with(larger, set));
      if (!other.mistake)
        return refuse(set.front()), nullptr;
      if (set.size() == 1 && other.depth > set.front().depth)
        warn(set.front(), /*isLarger=*/false);
    }
    return finish(std::move(made));
  }

  // The smaller ranks make no sense, but larger ones may.
  OwningOpRef<ModuleOp> mend(Attempt made, const Names &larger, ArrayRef<UnequalRanks> open) {
    std::optional<SmallVector<UnequalRanks>> found;
    bool isSameMistake = true;
    for (const SmallVector<UnequalRanks> &set : choices(open)) {
      Attempt other = attempt(with(larger, set));
      isSameMistake &= other.mistake == made.mistake;
      if (other.mistake)
        continue;
      if (found)
        return refuse(found->back()), nullptr;
      found = set;
    }
    // Whatever the ranks are, that is wrong.
    if (!found && isSameMistake)
      return finish(std::move(made));
    if (!found)
      return refuse(open.back()), nullptr;
    for (const UnequalRanks &met : *found)
      if (made.depth > met.depth)
        warn(met, /*isLarger=*/true);
    return import(with(larger, *found));
  }

  // The node for which one of the ranks makes no sense stands in a branch itself.
  static void warn(const UnequalRanks &met, bool isLarger) {
    emitWarning(met.node) << "an output is " << met.types << ", and the model is compiled for "
                          << (isLarger ? "more" : "fewer")
                          << " dimensions because of a node in a branch of another If; a run that takes the other "
                             "branch here is refused";
  }

  MLIRContext &context;
  const Opsets &opsets;
  MakeImporter makeImporter;
};

} // namespace

OwningOpRef<ModuleOp> importWithRanks(MLIRContext &context, const Opsets &opsets, MakeImporter makeImporter) {
  return RankChoice(context, opsets, makeImporter).import({});
}

} // namespace fathom::importer
