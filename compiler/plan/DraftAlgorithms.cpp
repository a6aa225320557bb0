// The algorithms of convolutions and products: costs from the best schedule of each, weights that may grow within a
// budget.
#include "compiler/plan/DraftAlgorithms.h"

#include "compiler/graph/OpNames.h"
#include "compiler/kernel/Backend.h"
#include "compiler/kernel/Choices.h"
#include "compiler/kernel/ConvAlgorithm.h"
#include "compiler/kernel/Strassen.h"
#include "compiler/kernel/VectorWork.h"
#include "compiler/plan/TransformedWeights.h"
#include "compiler/support/LargeStack.h"
#include <cmath>

using namespace mlir;
using namespace fathom::graph;

namespace fathom {
namespace {

using Rewrite = AlgorithmRewrite;
using Step = AlgorithmStep;
using Steps = AlgorithmSteps;
using Costs = AlgorithmCosts;

// Of rewrites that each gain something over none, those worth their bytes: as steps, each from the one before, that
// gain less and less for a byte.
Steps inSteps(ArrayRef<Step> rewrites) {
  Steps steps;
  Step last{{}, 0, 0};
  while (true) {
    Step best{{}, 0, 0}, reached;
    for (const Step &rewrite : rewrites) {
      Step step{rewrite.rewrite, rewrite.gain - last.gain, rewrite.bytes - last.bytes};
      if (step.bytes >= 0 && step.gain > 0 && step.gainOfByte() > best.gainOfByte())
        best = step, reached = rewrite;
    }
    if (best.gain == 0)
      return steps;
    steps.push_back(best);
    last = reached;
  }
}

Steps winogradRewrites(ConvOp conv, double otherwise, const Target &target) {
  auto weight = cast<RankedTensorType>(conv.getWeight().getType());
  auto step = [&](int64_t tile) {
    cost::WinogradConv problem = winogradProblem(conv, conv.getInput(), tile, conv.getGroup());
    Choice<WinogradSchedule> best = bestWinograd(problem, target);
    // With what fills the last panel.
    int64_t columns = llvm::alignTo(problem.columns, best.schedule.tileN);
    int64_t elements = problem.positions() * problem.groupChannels() * columns - weight.getNumElements();
    return Step{{AlgorithmChoice::Winograd, tile}, otherwise - best.score, elements * 4};
  };
  return {step(2), step(4)};
}

// For an op with these weights that takes so long otherwise.
Steps strassenRewrites(Operation *op, Value weight, int64_t depth, int64_t columns, double otherwise,
                       const Target &target) {
  // One of eight products is saved. What gains little of that is not worth its rounding errors.
  const Calibration &c = target.calibration;
  double worthwhile = target.multipliesByLane() ? c.strassenLeastGain : c.strassenLeastGainMemory;
  Steps rewrites;
  cost::StrassenProduct problem = strassenProblem(op, depth, columns, strassen::basis, target);
  for (int64_t stored = strassen::basis; stored <= strassen::products; ++stored) {
    problem.stored = stored;
    Choice<StrassenSchedule> best = bestStrassen(problem, target);
    int64_t elements = stored * problem.halfDepth() * llvm::alignTo(columns / 2, best.schedule.tileN);
    int64_t bytes = (elements - depth * columns) * 4;
    // What more there is to read counts as if nothing hid it: others read, too.
    double gain = otherwise - best.score - cost::coldRefill(double(bytes), target).full;
    // Weights that others use, too, stay.
    if (!weight.hasOneUse())
      bytes = elements * 4;
    if (gain >= worthwhile * otherwise)
      rewrites.push_back({{AlgorithmChoice::Strassen, stored}, gain, bytes});
  }
  return rewrites;
}

bool allowsWinograd(ConvOp conv, const AlgorithmOptions &options) {
  return options.transformsWeights() && takesWinograd(conv);
}
template <typename Op> bool allowsStrassen(Op op, const AlgorithmOptions &options) {
  return options.allowsStrassen() && takesStrassen(op);
}

Costs weigh(ConvOp conv, const AlgorithmOptions &options, const Target &target) {
  // Groups of few channels waste lanes of a product's tiles. Without groups both have the same inner loops, and costs
  // of two models that differ by less than they err do not tell which is cheaper.
  double margin = conv.getGroup() > 1 ? 1 : target.calibration.algorithmMargin;
  double cheaper = bestContract(conv, target).score;
  Costs costs;
  if (!isDepthwise(conv)) {
    double spatialPack = bestSpatialPack(conv, target).score;
    costs.takesSpatialPack = std::isfinite(spatialPack);
    costs.isSpatialPackCheaper = spatialPack < margin * cheaper;
    if (costs.isSpatialPackCheaper)
      cheaper = spatialPack;
  }
  ArrayRef<int64_t> weight = cast<RankedTensorType>(conv.getWeight().getType()).getShape();
  if (allowsWinograd(conv, options))
    costs.rewrites = winogradRewrites(conv, cheaper, target);
  else if (allowsStrassen(conv, options) && keepsSamplesApart(conv))
    costs.rewrites = strassenRewrites(conv, conv.getWeight(), weight[1], weight[0], cheaper, target);
  costs.steps = inSteps(costs.rewrites);
  return costs;
}

Costs weigh(MatMulOp product, const AlgorithmOptions &options, const Target &target) {
  if (!allowsStrassen(product, options) || !keepsSamplesApart(product))
    return {};
  ArrayRef<int64_t> weight = cast<RankedTensorType>(product.getRhs().getType()).getShape();
  double otherwise = bestContract(product, target).score;
  Steps rewrites = strassenRewrites(product, product.getRhs(), weight[0], weight[1], otherwise, target);
  Steps steps = inSteps(rewrites);
  return {.rewrites = std::move(rewrites), .steps = std::move(steps)};
}

// The costs of a model's convolutions or products. Models repeat their layers: equal ones are weighed once, and
// different ones at the same time.
template <typename Op> class CostTable {
public:
  CostTable(ArrayRef<Op> ops, const AlgorithmOptions &options, const Target &target, KnownAlgorithmCosts &known) {
    std::vector<std::pair<Op, Costs>> different;
    std::vector<std::pair<Op, size_t>> unknown; // and which of them it is like
    for (Op op : ops) {
      if (auto found = known.find(opName(op)); found != known.end()) {
        costs[op] = found->second;
        continue;
      }
      auto alike = llvm::find_if(different, [&](const auto &entry) { return costAlike(entry.first, op); });
      unknown.emplace_back(op, alike - different.begin());
      if (alike == different.end())
        different.push_back({op, {}});
    }
    onLargeStacks(options.threads, different.size(),
                  [&](size_t i) { different[i].second = weigh(different[i].first, options, target); });
    for (auto [op, which] : unknown) {
      costs[op] = different[which].second;
      if (!opName(op).empty())
        known[opName(op)] = different[which].second;
    }
  }

  const Costs &of(Op op) const { return costs.find(op)->second; }

private:
  DenseMap<Operation *, Costs> costs;
};

// Steps of a whole model, of which those that gain most for the bytes by which weights grow are taken.
class Growth {
public:
  explicit Growth(int64_t budget) : budget(budget) {}

  void spend(int64_t bytes) { budget -= bytes; }
  void offer(Operation *op, const Costs &costs) {
    for (auto [number, step] : llvm::enumerate(costs.steps))
      offers.push_back({op, step, number, offers.size()});
  }

  std::vector<AlgorithmChoice> taken() {
    llvm::sort(offers, [](const Offer &a, const Offer &b) {
      double ofA = a.step.gainOfByte(), ofB = b.step.gainOfByte();
      return ofA != ofB ? ofA > ofB : a.order < b.order;
    });
    // A step replaces the one before, if that was taken.
    llvm::MapVector<Operation *, SmallVector<Rewrite, 4>> taken;
    for (const auto &[op, step, number, order] : offers)
      if (step.bytes <= budget && taken[op].size() == number) {
        budget -= step.bytes;
        taken[op].push_back(step.rewrite);
      }
    std::vector<AlgorithmChoice> choices;
    for (const auto &[op, rewrites] : taken)
      if (!rewrites.empty())
        choices.push_back({op, rewrites.back().method, "", rewrites.back().number});
    return choices;
  }

private:
  struct Offer {
    Operation *op;
    Step step;
    size_t number, order; // of the op's steps, of all
  };
  int64_t budget;
  SmallVector<Offer> offers;
};

// An algorithm with transformed weights by its name, where it is possible: tiles of 4 pixels, and as many stored
// factors as there are, where none are said.
template <typename Op>
void takeTransformed(Op op, StringRef name, const AlgorithmOptions &options, std::vector<AlgorithmChoice> &into) {
  int64_t number;
  if (name.consume_front("strassen") && allowsStrassen(op, options))
    into.push_back({op, AlgorithmChoice::Strassen, "", name.getAsInteger(10, number) ? strassen::products : number});
  if constexpr (std::is_same_v<Op, ConvOp>)
    if (name.consume_front("winograd") && allowsWinograd(op, options))
      into.push_back({op, AlgorithmChoice::Winograd, "", name == "2" ? 2 : 4});
}

// What was asked for, as far as it is possible.
void force(ConvOp conv, const AlgorithmOptions &options, std::vector<AlgorithmChoice> &into) {
  into.push_back({conv, AlgorithmChoice::Named, options.convolution});
  takeTransformed(conv, options.convolution, options, into);
}

std::string nameOf(const Rewrite &rewrite) {
  return (rewrite.method == AlgorithmChoice::Winograd ? "winograd" : "strassen") + std::to_string(rewrite.number);
}

// An op with all algorithms that are possible for it. Whether "contract" reads in place or packs is for schedules.
Site siteOf(Operation *op, const Costs &costs) {
  Site site{SiteKind::Algorithm, opName(op).str(), {{"contract"}}};
  if (costs.takesSpatialPack)
    site.alternatives.push_back({spatialPackName(op).str()});
  for (const Step &rewrite : costs.rewrites)
    site.alternatives.push_back({nameOf(rewrite.rewrite), rewrite.bytes});
  return site;
}

// Offers what the draft may choose among, and follows what is fixed.
template <typename Op>
void offer(Op op, const Costs &costs, const AlgorithmOptions &options, const FixedAlgorithms &fixed,
           std::vector<Site> &sites, Growth &growth, std::vector<AlgorithmChoice> &choices) {
  Site &site = sites.emplace_back(siteOf(op, costs));
  auto wanted = fixed.find(opName(op));
  const Alternative *taken = wanted == fixed.end() ? nullptr : site.find(wanted->second);
  if (!taken) {
    if (costs.isSpatialPackCheaper)
      choices.push_back({op, AlgorithmChoice::Named, spatialPackName(op).str()});
    return growth.offer(op, costs);
  }
  bool isPlain = llvm::none_of(costs.rewrites, [&](const Step &step) { return nameOf(step.rewrite) == taken->name; });
  if (isPlain && taken->name != "contract")
    choices.push_back({op, AlgorithmChoice::Named, taken->name});
  takeTransformed(op, taken->name, options, choices);
  growth.spend(taken->bytes);
}

void noteProposed(std::vector<Site> &sites, ArrayRef<AlgorithmChoice> choices) {
  llvm::StringMap<Site *> byName;
  for (Site &site : sites)
    byName[site.op] = &site;
  for (const AlgorithmChoice &choice : choices)
    if (Site *site = byName.lookup(opName(choice.op)))
      site->propose(choice.method == AlgorithmChoice::Named ? choice.name : nameOf({choice.method, choice.number}));
}

} // namespace

std::vector<AlgorithmChoice> draftAlgorithms(func::FuncOp main, const Target &target, const AlgorithmOptions &options,
                                             const FixedAlgorithms &fixed, std::vector<Site> *sites,
                                             KnownAlgorithmCosts *known) {
  // A back end has all of these ways or one class for all.
  if (!backendOf(target).has(Algorithm::Contract))
    return {};
  SmallVector<ConvOp> convolutions;
  SmallVector<MatMulOp> products;
  main.walk([&](ConvOp conv) { convolutions.push_back(conv); });
  main.walk([&](MatMulOp product) { products.push_back(product); });
  KnownAlgorithmCosts here;
  KnownAlgorithmCosts &kept = known ? *known : here;
  std::vector<AlgorithmChoice> choices;
  std::vector<Site> found;
  Growth growth(int64_t(options.maxWeightGrowth * double(std::max(constantBytes(main), options.leastWeights))));
  if (options.convolution == "auto") {
    CostTable<ConvOp> costs(convolutions, options, target, kept);
    for (ConvOp conv : convolutions)
      offer(conv, costs.of(conv), options, fixed, found, growth, choices);
  }
  if (options.product == "auto") {
    CostTable<MatMulOp> costs(products, options, target, kept);
    for (MatMulOp product : products)
      offer(product, costs.of(product), options, fixed, found, growth, choices);
  }
  llvm::append_range(choices, growth.taken());
  if (sites) {
    noteProposed(found, choices);
    llvm::erase_if(found, [](const Site &site) { return site.alternatives.size() < 2; });
    *sites = std::move(found);
  }

  if (options.convolution != "auto" && options.convolution != "contract")
    for (ConvOp conv : convolutions)
      force(conv, options, choices);
  if (options.product == "strassen")
    for (MatMulOp product : products)
      takeTransformed(product, "strassen", options, choices);
  return choices;
}

} // namespace fathom
