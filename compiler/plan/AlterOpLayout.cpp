// The algorithms of convolutions and products: costs from the best schedule of each, weights that may grow within a
// budget.
#include "compiler/plan/AlterOpLayout.h"

#include "compiler/kernel/Choices.h"
#include "compiler/kernel/ConvAlgorithm.h"
#include "compiler/kernel/KernelClass.h"
#include "compiler/kernel/Strassen.h"
#include "compiler/kernel/VectorWork.h"
#include "compiler/passes/Passes.h"
#include "compiler/plan/ConvertLayout.h"
#include "compiler/plan/JoinedPhases.h"
#include "compiler/plan/TransformedWeights.h"
#include "compiler/support/Diagnostics.h"
#include <deque>

using namespace mlir;
using namespace fathom::graph;

namespace fathom {
#define GEN_PASS_DEF_ALTEROPLAYOUTPASS
#include "compiler/passes/Passes.h.inc"

namespace {

// An algorithm with transformed weights.
struct Rewrite {
  enum { Winograd, Strassen } method;
  int64_t number; // pixels of a tile's side; stored factors

  void apply(Operation *op) const {
    auto conv = dyn_cast<ConvOp>(op);
    if (method == Winograd)
      useWinograd(conv, number);
    else
      conv ? useStrassen(conv, number) : useStrassen(cast<MatMulOp>(op), number);
  }
};

// A step that makes an op faster and its weights larger.
struct Step {
  Rewrite rewrite;
  double gain;
  int64_t bytes;

  double gainOfByte() const { return gain / double(std::max<int64_t>(1, bytes)); }
};
using Steps = SmallVector<Step, 4>;

struct Costs {
  bool isSpatialPackCheaper = false;
  Steps steps;
};

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

Steps winogradSteps(ConvOp conv, double otherwise, const Target &target) {
  auto weight = cast<RankedTensorType>(conv.getWeight().getType());
  auto step = [&](int64_t tile) {
    cost::WinogradConv problem = winogradProblem(conv, conv.getInput(), tile, conv.getGroup());
    Choice<WinogradSchedule> best = bestWinograd(problem, target);
    // With what fills the last panel.
    int64_t columns = llvm::alignTo(problem.columns, best.schedule.tileN);
    int64_t elements = problem.positions() * problem.groupChannels() * columns - weight.getNumElements();
    return Step{{Rewrite::Winograd, tile}, otherwise - best.score, elements * 4};
  };
  return inSteps({step(2), step(4)});
}

// For an op with these weights that takes so long otherwise.
Steps strassenSteps(Operation *op, Value weight, int64_t depth, int64_t columns, double otherwise,
                    const Target &target) {
  // One of eight products is saved. What gains less than a sixth of that is not worth its rounding errors. Without
  // lane-wise multiply-adds nothing was gained where the costs say more than that (on 16 cores with AVX-512).
  double worthwhile = target.laneFma ? 0.02 : 0.125;
  Steps rewrites;
  for (int64_t stored = strassen::basis; stored <= strassen::products; ++stored) {
    cost::StrassenProduct problem = strassenProblem(op, depth, columns, stored);
    Choice<StrassenSchedule> best = bestStrassen(problem, target);
    int64_t elements = stored * problem.halfDepth() * llvm::alignTo(columns / 2, best.schedule.tileN);
    int64_t bytes = (elements - depth * columns) * 4;
    // What more there is to read counts as if nothing hid it: others read, too.
    double gain = otherwise - best.score - cost::coldRefill(double(bytes), target).full;
    // Weights that others use, too, stay.
    if (!weight.hasOneUse())
      bytes = elements * 4;
    if (gain >= worthwhile * otherwise)
      rewrites.push_back({{Rewrite::Strassen, stored}, gain, bytes});
  }
  return inSteps(rewrites);
}

Costs weigh(ConvOp conv, const AlgorithmOptions &options, const Target &target) {
  // Groups of few channels waste lanes of a product's tiles. Without groups both have the same inner loops, and costs
  // of two models that differ by less than they err do not tell which is cheaper.
  double margin = conv.getGroup() > 1 ? 1 : 0.87;
  double cheaper = bestContract(conv, target).score;
  Costs costs;
  if (!isDepthwise(conv) && spatialPackProblem(conv)) {
    double spatialPack = bestSpatialPack(conv, target).score;
    costs.isSpatialPackCheaper = spatialPack < margin * cheaper;
    if (costs.isSpatialPackCheaper)
      cheaper = spatialPack;
  }
  ArrayRef<int64_t> weight = cast<RankedTensorType>(conv.getWeight().getType()).getShape();
  if (options.transformsWeights() && takesWinograd(conv))
    costs.steps = winogradSteps(conv, cheaper, target);
  else if (options.allowsStrassen() && takesStrassen(conv) && keepsSamplesApart(conv))
    costs.steps = strassenSteps(conv, conv.getWeight(), weight[1], weight[0], cheaper, target);
  return costs;
}

Costs weigh(MatMulOp product, const AlgorithmOptions &options, const Target &target) {
  if (!options.allowsStrassen() || !takesStrassen(product) || !keepsSamplesApart(product))
    return {};
  ArrayRef<int64_t> weight = cast<RankedTensorType>(product.getRhs().getType()).getShape();
  double otherwise = bestContract(product, target).score;
  return {.steps = strassenSteps(product, product.getRhs(), weight[0], weight[1], otherwise, target)};
}

// The costs of a model's convolutions or products. Models repeat their layers: equal ones are weighed once.
template <typename Op> class CostTable {
public:
  CostTable(const AlgorithmOptions &options, const Target &target) : options(options), target(target) {}

  const Costs &of(Op op) {
    auto entry = llvm::find_if(entries, [&](const auto &entry) { return costAlike(entry.first, op); });
    return entry != entries.end() ? entry->second : entries.emplace_back(op, weigh(op, options, target)).second;
  }

private:
  const AlgorithmOptions &options;
  const Target &target;
  std::deque<std::pair<Op, Costs>> entries;
};

// Steps of a whole model, of which those that gain most for the bytes by which weights grow are taken.
class Growth {
public:
  explicit Growth(int64_t budget) : budget(budget) {}

  void offer(Operation *op, const Costs &costs) {
    for (auto [number, step] : llvm::enumerate(costs.steps))
      offers.push_back({op, step, number, offers.size()});
  }

  void take() {
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
    for (const auto &[op, rewrites] : taken)
      if (!rewrites.empty())
        rewrites.back().apply(op);
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

constexpr StringLiteral needOfStrassen = "32-bit floats times constant weights, of known sizes and an even depth and "
                                         "number of columns: products of matrices, or windows of one pixel";

InFlightDiagnostic refusePlan(Operation *op, const PlannedKernel &kernel, StringRef need) {
  return emitError(op, ErrorCode::BadPlan)
         << "kernel '" << kernel.name << "': class '" << kernel.kernelClass << "' is for " << need;
}

template <typename Op>
LogicalResult strassenAsPlanned(Op op, const PlannedKernel &kernel, const AlgorithmOptions &options) {
  if (!options.allowsStrassen())
    return hint(refusePlan(op, kernel, "rows that may have the rounding errors of their neighbours"),
                "Strassen's method needs --fp fastest");
  if (!takesStrassen(op))
    return refusePlan(op, kernel, needOfStrassen);
  // Another number is refused with the schedule.
  useStrassen(op, std::clamp(typed<StrassenSchedule>(kernel.schedule).stored, strassen::basis, strassen::products));
  return success();
}

LogicalResult asPlanned(ConvOp conv, const Plan &plan, const AlgorithmOptions &options) {
  const PlannedKernel *kernel = plan.kernelOf(opName(conv));
  if (kernel && kernel->kernelClass == "spatial_pack") {
    if (isDepthwise(conv) || !spatialPackProblem(conv))
      return refusePlan(conv, *kernel, "convolutions of 32-bit floats with known channels, several of them in a group");
    setAlgorithm(conv, spatialPackName(conv));
  }
  if (kernel && kernel->kernelClass == "strassen")
    return strassenAsPlanned(conv, *kernel, options);
  if (!kernel || kernel->kernelClass != "winograd")
    return success();
  if (!options.transformsWeights())
    return hint(refusePlan(conv, *kernel, "results that may round differently"), "Winograd's method needs --fp fast");
  int64_t tile = typed<WinogradSchedule>(kernel->schedule).tile;
  if (!takesWinograd(conv) || (tile != 2 && tile != 4))
    return refusePlan(conv, *kernel,
                      "constant windows of 3 x 3 that move by one over several channels, with tile = 2 or 4");
  useWinograd(conv, tile);
  return success();
}

LogicalResult asPlanned(MatMulOp product, const Plan &plan, const AlgorithmOptions &options) {
  const PlannedKernel *kernel = plan.kernelOf(opName(product));
  if (!kernel || kernel->kernelClass != "strassen")
    return success();
  return strassenAsPlanned(product, *kernel, options);
}

void force(ConvOp conv, const AlgorithmOptions &options) {
  StringRef name = options.convolution;
  setAlgorithm(conv, name);
  if (name == "strassen" && options.allowsStrassen() && takesStrassen(conv))
    useStrassen(conv, strassen::products);
  else if (name.consume_front("winograd") && options.transformsWeights() && takesWinograd(conv))
    useWinograd(conv, name == "2" ? 2 : 4);
}

struct AlterOpLayoutPass : impl::AlterOpLayoutPassBase<AlterOpLayoutPass> {
  using AlterOpLayoutPassBase::AlterOpLayoutPassBase;
  void runOnOperation() override {
    auto machine = parseTarget(target);
    if (!machine) {
      emitError(getOperation().getLoc(), ErrorCode::BadTarget) << llvm::toString(machine.takeError());
      return signalPassFailure();
    }
    AlgorithmOptions options{convolution, product, maxWeightGrowth, parseFloatMode(fp)};
    if (failed(alterOpLayout(getOperation(), *machine, options, nullptr)))
      signalPassFailure();
  }
};

// Transposed convolutions that other ops compute better: as the plan has them, or by how they fill vectors. Taps that
// fill up windows are zeros, which infinite inputs would meet: that is not for strict floating point.
void rewriteTransposed(func::FuncOp main, const Target &target, const AlgorithmOptions &options, const Plan *plan) {
  if (!options.transformsWeights())
    return;
  SmallVector<ConvTransposeOp> convolutions;
  main.walk([&](ConvTransposeOp conv) { convolutions.push_back(conv); });
  auto isPlanned = [&](ConvTransposeOp conv, StringRef suffix) {
    return plan && plan->kernelOf((opName(conv) + suffix).str());
  };
  for (ConvTransposeOp conv : convolutions)
    if (takesProductOfPixel(conv) && (!plan || isPlanned(conv, ".taps")))
      useProductOfPixel(conv);
    else if (takesJoinedPhases(conv) && (plan ? isPlanned(conv, ".phases") : gainsFromJoinedPhases(conv, target)))
      joinPhases(conv);
}

// What a model's weights count as at least when a share of them is the budget: a few layers take less than their code.
constexpr int64_t leastWeights = 256 << 10;

LogicalResult chooseAlgorithms(func::FuncOp main, const Target &target, const AlgorithmOptions &options,
                               const Plan *plan) {
  rewriteTransposed(main, target, options, plan);
  SmallVector<ConvOp> convolutions;
  SmallVector<MatMulOp> products;
  main.walk([&](ConvOp conv) { convolutions.push_back(conv); });
  main.walk([&](MatMulOp product) { products.push_back(product); });
  auto follow = [&](auto op) { return asPlanned(op, *plan, options); };
  if (plan)
    return success(llvm::all_of(convolutions, [&](ConvOp conv) { return succeeded(follow(conv)); }) &&
                   llvm::all_of(products, [&](MatMulOp product) { return succeeded(follow(product)); }));

  Growth growth(int64_t(options.maxWeightGrowth * double(std::max(constantBytes(main), leastWeights))));
  if (options.convolution == "auto") {
    CostTable<ConvOp> costs(options, target);
    for (ConvOp conv : convolutions) {
      if (costs.of(conv).isSpatialPackCheaper)
        setAlgorithm(conv, spatialPackName(conv));
      growth.offer(conv, costs.of(conv));
    }
  }
  if (options.product == "auto") {
    CostTable<MatMulOp> costs(options, target);
    for (MatMulOp product : products)
      growth.offer(product, costs.of(product));
  }
  growth.take();

  if (options.convolution != "auto" && options.convolution != "contract")
    for (ConvOp conv : convolutions)
      force(conv, options);
  if (options.product == "strassen" && options.allowsStrassen())
    for (MatMulOp product : products)
      if (takesStrassen(product))
        useStrassen(product, strassen::products);
  return success();
}

} // namespace

LogicalResult alterOpLayout(func::FuncOp main, const Target &target, const AlgorithmOptions &options,
                            const Plan *plan) {
  if (failed(chooseAlgorithms(main, target, options, plan)))
    return failure();
  main.walk([](ConvOp conv) {
    if (takesSwappedPairs(conv))
      swapPairs(conv);
  });
  return success();
}

} // namespace fathom
