// The draft's decisions with some of them fixed.
#include "compiler/graph/OpNames.h"
#include "compiler/plan/DraftAlgorithms.h"
#include "compiler/plan/Sites.h"
#include "compiler/support/Diagnostics.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom {

static constexpr StringLiteral kindNames[] = {"algorithm", "fusion", "growth"};

StringRef name(SiteKind kind) { return kindNames[unsigned(kind)]; }

const Alternative *Site::find(StringRef name) const {
  auto found = llvm::find_if(alternatives, [&](const Alternative &one) { return one.name == name; });
  return found == alternatives.end() ? nullptr : &*found;
}

void Site::propose(StringRef name) {
  if (const Alternative *alternative = find(name))
    proposed = alternative - alternatives.data();
}

PlannedChoice Site::take(size_t alternative) const {
  return {op, fathom::name(kind).str(), alternatives[alternative].name};
}

namespace {

class DraftWithChoices final : public SiteChooser {
public:
  DraftWithChoices(const Target &target, std::vector<PlannedChoice> made, std::vector<PlannedChoice> kept, bool isUsers)
      : target(target), isUsers(isUsers), draft(draftChooser(target)) {
    fix(std::move(made), std::move(kept));
  }

  void fix(std::vector<PlannedChoice> made, std::vector<PlannedChoice> kept) override {
    this->made = std::move(made);
    fixedAlgorithms.clear(), fixedFusion.clear(), asked.clear(), found.clear();
    for (const auto &choices : {this->made, kept})
      for (const PlannedChoice &choice : choices)
        (choice.kind == name(SiteKind::Algorithm) ? fixedAlgorithms : fixedFusion)[choice.op] = choice.take;
  }

  TransposedForm form(ConvTransposeOp op, const AlgorithmOptions &options) override { return draft->form(op, options); }
  FailureOr<std::vector<AlgorithmChoice>> algorithms(func::FuncOp main, const AlgorithmOptions &options) override {
    std::vector<AlgorithmChoice> choices = draftAlgorithms(main, target, options, fixedAlgorithms, &found, &costs);
    if (failed(check(SiteKind::Algorithm, main.getLoc())))
      return failure();
    return choices;
  }

  FailureOr<LayoutChoice> layout(Value result, LayoutChoice natural) override { return draft->layout(result, natural); }
  bool fuses(const Attention &attention) override {
    return decideFusion(Attention(attention).product, draft->fuses(attention));
  }
  FailureOr<int64_t> panelWidth(Operation *op, const KernelClass &klass, Operation *anchor) override {
    return draft->panelWidth(op, klass, anchor);
  }
  bool placesByCost() const override { return draft->placesByCost(); }
  Placing placing(Value root, ConcatOp whole) override { return draft->placing(root, whole); }
  bool copies(SliceOp slice) override { return draft->copies(slice); }
  FailureOr<std::vector<FusionGroup>> groups(func::FuncOp main) override {
    auto decide = [&](Operation *reader, bool proposed) { return decideFusion(reader, proposed); };
    std::vector<FusionGroup> groups = fuseOps(main, target, decide);
    if (failed(check(SiteKind::Fusion, main.getLoc())))
      return failure();
    return groups;
  }
  FailureOr<ScheduleChoice> schedule(const KernelSite &kernel) override { return draft->schedule(kernel); }

  ArrayRef<PlannedChoice> choices() const override { return made; }
  ArrayRef<Site> sites() const override { return found; }

private:
  // One site for an op, however often it is asked of.
  bool decideFusion(Operation *reader, bool proposed) {
    StringRef op = opName(reader);
    if (asked.insert(op).second)
      found.push_back({SiteKind::Fusion, op.str(), {{together.str()}, {apart.str()}}, size_t(proposed ? 0 : 1)});
    auto fixed = fixedFusion.find(op);
    return fixed == fixedFusion.end() ? proposed : fixed->second == together;
  }

  // That what the user fixed can be chosen.
  LogicalResult check(SiteKind kind, Location loc) const {
    for (const PlannedChoice &choice : made) {
      if (choice.kind != name(kind) || !isUsers)
        continue;
      auto site = llvm::find_if(found, [&](const Site &site) { return site.kind == kind && site.op == choice.op; });
      if (site == found.end())
        return hint(emitError(loc, ErrorCode::BadPlan)
                        << choice.kind << " of '" << choice.op << "': there is nothing to choose",
                    "no op of the graph has this name, or only one way is open to it with these options");
      if (site->find(choice.take))
        continue;
      std::string list;
      llvm::raw_string_ostream out(list);
      llvm::interleaveComma(site->alternatives, out, [&](const Alternative &one) { out << one.name; });
      return hint(emitError(loc, ErrorCode::BadPlan)
                      << choice.kind << " of '" << choice.op << "': '" << choice.take << "' cannot be chosen",
                  "possible are " + list);
    }
    return success();
  }

  const Target &target;
  std::vector<PlannedChoice> made;
  bool isUsers;
  FixedAlgorithms fixedAlgorithms;
  llvm::StringMap<std::string> fixedFusion; // by ops
  llvm::StringSet<> asked;
  KnownAlgorithmCosts costs;
  std::unique_ptr<Chooser> draft;
  std::vector<Site> found;
};

} // namespace

std::unique_ptr<SiteChooser> siteChooser(const Target &target, std::vector<PlannedChoice> made,
                                         std::vector<PlannedChoice> kept, bool isUsers) {
  return std::make_unique<DraftWithChoices>(target, std::move(made), std::move(kept), isUsers);
}

} // namespace fathom
