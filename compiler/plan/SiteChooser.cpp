// The draft's decisions with some of them fixed.
#include "compiler/plan/DraftAlgorithms.h"
#include "compiler/plan/Sites.h"
#include "compiler/support/Diagnostics.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom {

static constexpr StringLiteral kindNames[] = {"algorithm", "growth"};

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
  DraftWithChoices(const Target &target, std::vector<PlannedChoice> made, std::vector<PlannedChoice> kept)
      : target(target), made(std::move(made)), kept(std::move(kept)), draft(draftChooser(target)) {}

  TransposedForm form(ConvTransposeOp op, const AlgorithmOptions &options) override { return draft->form(op, options); }
  FailureOr<std::vector<AlgorithmChoice>> algorithms(func::FuncOp main, const AlgorithmOptions &options) override {
    FixedAlgorithms fixed;
    for (const auto &choices : {made, kept})
      for (const PlannedChoice &choice : choices)
        if (choice.kind == name(SiteKind::Algorithm))
          fixed[choice.op] = choice.take;
    std::vector<Site> sites;
    std::vector<AlgorithmChoice> choices = draftAlgorithms(main, target, options, fixed, &sites);
    if (failed(check(SiteKind::Algorithm, sites, main.getLoc())))
      return failure();
    llvm::append_range(found, sites);
    return choices;
  }

  FailureOr<LayoutChoice> layout(Value result, LayoutChoice natural) override { return draft->layout(result, natural); }
  bool fuses(const Attention &attention) override { return draft->fuses(attention); }
  FailureOr<int64_t> panelWidth(Operation *op, const KernelClass &klass, Operation *anchor) override {
    return draft->panelWidth(op, klass, anchor);
  }
  bool placesByCost() const override { return draft->placesByCost(); }
  Placing placing(Value root, ConcatOp whole) override { return draft->placing(root, whole); }
  bool copies(SliceOp slice) override { return draft->copies(slice); }
  FailureOr<std::vector<FusionGroup>> groups(func::FuncOp main) override { return draft->groups(main); }
  FailureOr<ScheduleChoice> schedule(const KernelSite &kernel) override { return draft->schedule(kernel); }

  ArrayRef<PlannedChoice> choices() const override { return made; }
  ArrayRef<Site> sites() const override { return found; }

private:
  // That what is fixed can be chosen.
  LogicalResult check(SiteKind kind, ArrayRef<Site> sites, Location loc) const {
    for (const PlannedChoice &choice : made) {
      if (choice.kind != name(kind))
        continue;
      auto site = llvm::find_if(sites, [&](const Site &site) { return site.op == choice.op; });
      if (site == sites.end())
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
  std::vector<PlannedChoice> made, kept;
  std::unique_ptr<Chooser> draft;
  std::vector<Site> found;
};

} // namespace

std::unique_ptr<SiteChooser> siteChooser(const Target &target, std::vector<PlannedChoice> made,
                                         std::vector<PlannedChoice> kept) {
  return std::make_unique<DraftWithChoices>(target, std::move(made), std::move(kept));
}

} // namespace fathom
