// A rank with which what follows it is a mistake is not the one that is meant.
#include "compiler/import/build/RankChoice.h"
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
  unsigned wrongRanks = 0; // values of another rank than is declared
};

using Set = SmallVector<UnequalRanks>;

bool areSqueezes(ArrayRef<UnequalRanks> set) {
  return llvm::all_of(set, [](const UnequalRanks &met) { return met.isSqueeze; });
}

Names with(const Names &names, ArrayRef<UnequalRanks> more) {
  Names all;
  for (const auto &name : names)
    all.insert(name.first());
  for (const UnequalRanks &met : more)
    all.insert(met.key);
  return all;
}

void refuse(const UnequalRanks &met) {
  if (met.isSqueeze) {
    hint(emitError(met.node, ErrorCode::UnsupportedShape)
             << "without axes it cannot be known whether " << met.types << " is 1",
         met.dim.empty() ? "give the axes to squeeze"
                         : "give the axes to squeeze, or a size: --dim " + met.dim + "=1, or a range like --dim " +
                               met.dim + "=2..8");
    return;
  }
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

  // With what is decided so far; every round decides about one more at least.
  OwningOpRef<ModuleOp> import(Names second) {
    Attempt made = attempt(second);
    Set open =
        llvm::filter_to_vector<4>(made.unequal, [&](const UnequalRanks &met) { return !second.contains(met.key); });
    // What is valid but not supported says nothing about branches. Of a Squeeze the other way may be supported.
    if (open.empty() || (!made.mistake && !made.module && !areSqueezes(open)))
      return finish(std::move(made));
    return made.mistake || !made.module ? mend(std::move(made), second, open) : confirm(std::move(made), second, open);
  }

private:
  Attempt attempt(const Names &second) {
    Attempt made;
    std::unique_ptr<Importer> importer = makeImporter(with(second, {}));
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
    made.wrongRanks = importer->wrongRanks();
    return made;
  }

  OwningOpRef<ModuleOp> finish(Attempt made) {
    for (Diagnostic &diagnostic : made.said)
      context.getDiagEngine().emit(std::move(diagnostic));
    return std::move(made.module);
  }

  // All of them, and each alone.
  static SmallVector<Set> choices(ArrayRef<UnequalRanks> open) {
    SmallVector<Set> sets{llvm::to_vector<4>(open)};
    constexpr size_t most = 16; // imports of a hostile model
    for (const UnequalRanks &met : open.take_front(open.size() > 1 ? most : 0))
      sets.push_back({met});
    return sets;
  }

  // The first ways make sense. Of an If that is what is meant if nothing else does. Of a Squeeze it is as well if the
  // model does not declare the other rank: a size that may change is seldom 1.
  OwningOpRef<ModuleOp> confirm(Attempt made, const Names &second, ArrayRef<UnequalRanks> open) {
    Set declared, possible;
    unsigned wrongRanks = made.wrongRanks;
    bool isTie = false;
    for (const Set &set : choices(open)) {
      Attempt other = attempt(with(second, set));
      if (other.mistake) {
        if (set.size() == 1 && !set.front().isSqueeze && other.depth > set.front().depth)
          warn(set.front(), /*isSecond=*/false);
        continue;
      }
      if (!areSqueezes(set))
        return refuse(*llvm::find_if_not(set, [](const UnequalRanks &met) { return met.isSqueeze; })), nullptr;
      // How many dimensions there are does not tell which.
      isTie = other.wrongRanks == wrongRanks ? !declared.empty() : isTie && other.wrongRanks > wrongRanks;
      if (other.wrongRanks < wrongRanks)
        declared = set, wrongRanks = other.wrongRanks;
      if (set.size() == 1)
        possible.push_back(set.front());
    }
    if (isTie)
      return refuse(declared.front()), nullptr;
    for (const UnequalRanks &met : declared.empty() ? possible : declared)
      warn(met, /*isSecond=*/!declared.empty());
    return declared.empty() ? finish(std::move(made)) : import(with(second, declared));
  }

  // The first ways make no sense or are not supported, but the second may be. Of several that do, where only dimensions
  // are squeezed, the one is meant that the model declares, or that assumes least.
  OwningOpRef<ModuleOp> mend(Attempt made, const Names &second, ArrayRef<UnequalRanks> open) {
    struct Found {
      Set set;
      unsigned wrongRanks;
    };
    SmallVector<Found> found;
    bool isSameMistake = true;
    for (Set &set : choices(open)) {
      Attempt other = attempt(with(second, set));
      isSameMistake &= other.mistake == made.mistake;
      if (areSqueezes(set) ? bool(other.module) : !other.mistake)
        found.push_back({std::move(set), other.wrongRanks});
    }
    // Whatever the ranks are, that is wrong.
    if (found.empty() && isSameMistake)
      return finish(std::move(made));
    if (found.empty())
      return refuse(open.back()), nullptr;
    auto costs = [](const Found &way) { return std::pair(way.wrongRanks, way.set.size()); };
    llvm::stable_sort(found, [&](const Found &a, const Found &b) { return costs(a) < costs(b); });
    bool areAllSqueezes = llvm::all_of(found, [](const Found &way) { return areSqueezes(way.set); });
    if (found.size() > 1 && (!areAllSqueezes || costs(found[0]) == costs(found[1])))
      return refuse(found.front().set.back()), nullptr;
    for (const UnequalRanks &met : found.front().set)
      if (!made.mistake || made.depth > met.depth || found.size() > 1)
        warn(met, /*isSecond=*/true);
    return import(with(second, found.front().set));
  }

  // The other way may make sense, or makes none only because of a node that stands in a branch itself.
  static void warn(const UnequalRanks &met, bool isSecond) {
    if (met.isSqueeze)
      emitWarning(met.node) << "without axes it leaves out " << met.types << " where that is 1, and the model is "
                            << "compiled for " << (isSecond ? "1" : "others") << "; a run with "
                            << (isSecond ? "another size" : "1") << " is refused";
    else
      emitWarning(met.node) << "an output is " << met.types << ", and the model is compiled for "
                            << (isSecond ? "more" : "fewer")
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
