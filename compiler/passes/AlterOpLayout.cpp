// The algorithms of convolutions and products: costs from the best schedule of each, weights that may grow within a
// budget.
#include "compiler/passes/AlterOpLayout.h"

#include "compiler/kernel/Choices.h"
#include "compiler/kernel/ConvAlgorithm.h"
#include "compiler/kernel/KernelClass.h"
#include "compiler/kernel/Strassen.h"
#include "compiler/kernel/VectorWork.h"
#include "compiler/passes/ConvertLayout.h"
#include "compiler/passes/Passes.h"
#include "compiler/passes/TransformedWeights.h"
#include "compiler/support/Diagnostics.h"
#include <deque>

using namespace mlir;
using namespace fathom::graph;

namespace fathom {
#define GEN_PASS_DEF_ALTEROPLAYOUTPASS
#include "compiler/passes/Passes.h.inc"

namespace {

// A step that makes an op faster and its weights larger.
struct Step {
  int64_t tile; // of Winograd's method; 0: Strassen's
  double gain;
  int64_t bytes;
};

struct Costs {
  bool isSpatialPackCheaper = false;
  SmallVector<Step, 2> steps;
};

// What taking tiles of 2 or 4 pixels gains, and what going on from 2 to 4 does.
SmallVector<Step, 2> winogradSteps(ConvOp conv, double otherwise, const Target &target) {
  auto weight = cast<RankedTensorType>(conv.getWeight().getType());
  auto step = [&](int64_t tile) {
    cost::WinogradConv problem = winogradProblem(conv, conv.getInput(), tile);
    Choice<cost::WinogradSchedule> best = bestWinograd(problem, 0, target);
    // With what fills the last panel.
    int64_t columns = llvm::alignTo(problem.columns, best.schedule.tileN);
    int64_t elements = problem.positions() * problem.channels * columns - weight.getNumElements();
    return Step{tile, otherwise - best.score, std::max<int64_t>(1, elements * 4)};
  };
  SmallVector<Step, 2> steps;
  Step two = step(2), four = step(4);
  if (two.gain > 0 && two.gain / double(two.bytes) > four.gain / double(four.bytes)) {
    steps.push_back(two);
    four.gain -= two.gain, four.bytes -= two.bytes;
  }
  if (four.gain > 0)
    steps.push_back(four);
  return steps;
}

// What Strassen's method gains, as a step or none, over an op with these weights that takes so long otherwise.
SmallVector<Step, 2> strassenSteps(Operation *op, Value weight, int64_t depth, int64_t columns, double otherwise,
                                   const Target &target) {
  cost::StrassenProduct problem = strassenProblem(op, depth, columns);
  Choice<cost::StrassenSchedule> best = bestStrassen(problem, 0, target);
  int64_t elements = strassen::products * problem.halfDepth() * llvm::alignTo(columns / 2, best.schedule.tileN);
  int64_t bytes = (elements - depth * columns) * 4;
  // What more there is to read counts as if nothing hid it: other cores read, too, and on those that multiply fast
  // nothing was gained. The score is of one thread and of all together.
  double gain = otherwise - best.score - 2 * cost::coldRefill(double(bytes), target).full;
  // One of eight products is saved. What gains less than a sixth of that is not worth its rounding errors.
  if (gain < 0.02 * otherwise)
    return {};
  // Weights that others use, too, stay.
  if (!weight.hasOneUse())
    bytes = elements * 4;
  return {Step{0, gain, bytes}};
}

Costs weigh(ConvOp conv, bool mayTransform, const Target &target) {
  // Groups of few channels waste lanes of a product's tiles. Without groups both have the same inner loops, and costs
  // of two models that differ by less than they err do not tell which is cheaper.
  double margin = conv.getGroup() > 1 ? 1 : 0.87;
  double product = bestContract(conv, target).score;
  Costs costs;
  if (!isDepthwise(conv) && spatialPackProblem(conv))
    costs.isSpatialPackCheaper = bestSpatialPack(conv, target).score < margin * product;
  ArrayRef<int64_t> weight = cast<RankedTensorType>(conv.getWeight().getType()).getShape();
  if (mayTransform && takesWinograd(conv))
    costs.steps = winogradSteps(conv, product, target);
  else if (mayTransform && takesStrassen(conv) && keepsSamplesApart(conv))
    costs.steps = strassenSteps(conv, conv.getWeight(), weight[1], weight[0], product, target);
  return costs;
}

Costs weigh(MatMulOp product, bool mayTransform, const Target &target) {
  if (!mayTransform || !takesStrassen(product) || !keepsSamplesApart(product))
    return {};
  ArrayRef<int64_t> weight = cast<RankedTensorType>(product.getRhs().getType()).getShape();
  double otherwise = bestContract(product, target).score;
  return {.steps = strassenSteps(product, product.getRhs(), weight[0], weight[1], otherwise, target)};
}

// The costs of a model's convolutions or products. Models repeat their layers: equal ones are weighed once.
template <typename Op> class CostTable {
public:
  CostTable(bool mayTransform, const Target &target) : mayTransform(mayTransform), target(target) {}

  const Costs &of(Op op) {
    auto entry = llvm::find_if(entries, [&](const auto &entry) { return costAlike(entry.first, op); });
    return entry != entries.end() ? entry->second : entries.emplace_back(op, weigh(op, mayTransform, target)).second;
  }

private:
  bool mayTransform;
  const Target &target;
  std::deque<std::pair<Op, Costs>> entries;
};

// Steps of a whole model, of which those that gain most for the bytes by which weights grow are taken.
class Growth {
public:
  explicit Growth(int64_t budget) : budget(budget) {}

  void offer(Operation *op, const Costs &costs) {
    for (const Step &step : costs.steps)
      offers.push_back({op, step, offers.size()});
  }

  void take() {
    llvm::sort(offers, [](const Offer &a, const Offer &b) {
      return a.gainOfByte() != b.gainOfByte() ? a.gainOfByte() > b.gainOfByte() : a.order < b.order;
    });
    // A larger tile replaces the smaller one taken before.
    llvm::MapVector<Operation *, int64_t> tiles;
    for (const auto &[op, step, order] : offers)
      if (step.bytes <= budget) {
        budget -= step.bytes;
        tiles[op] = step.tile;
      }
    for (auto [op, tile] : tiles)
      if (auto conv = dyn_cast<ConvOp>(op))
        tile ? useWinograd(conv, tile) : useStrassen(conv);
      else
        useStrassen(cast<MatMulOp>(op));
  }

private:
  struct Offer {
    Operation *op;
    Step step;
    size_t order;
    double gainOfByte() const { return step.gain / double(step.bytes); }
  };
  int64_t budget;
  SmallVector<Offer> offers;
};

constexpr StringLiteral needOfStrassen = "32-bit floats times constant weights, of known sizes and an even depth and "
                                         "number of columns: products of matrices, or windows of one pixel";

LogicalResult refusePlan(Operation *op, const PlannedKernel &kernel, StringRef need) {
  return emitError(op, ErrorCode::BadPlan)
         << "kernel '" << kernel.name << "': class '" << kernel.kernelClass << "' is for " << need;
}

LogicalResult asPlanned(ConvOp conv, const Plan &plan, const AlgorithmOptions &options) {
  const PlannedKernel *kernel = plan.kernelOf(opName(conv));
  if (kernel && kernel->kernelClass == "spatial_pack") {
    if (isDepthwise(conv) || !spatialPackProblem(conv))
      return refusePlan(conv, *kernel, "convolutions of 32-bit floats with known channels, several of them in a group");
    setAlgorithm(conv, spatialPackName(conv));
  }
  if (!kernel || !options.transforms)
    return success();
  if (kernel->kernelClass == "strassen")
    return takesStrassen(conv) ? useStrassen(conv), success() : refusePlan(conv, *kernel, needOfStrassen);
  if (kernel->kernelClass != "winograd")
    return success();
  int64_t tile = kernel->schedule["tile"];
  if (!takesWinograd(conv) || (tile != 2 && tile != 4))
    return refusePlan(conv, *kernel,
                      "constant windows of 3 x 3 that move by one over all channels, with tile = 2 or 4");
  useWinograd(conv, tile);
  return success();
}

LogicalResult asPlanned(MatMulOp product, const Plan &plan, const AlgorithmOptions &options) {
  const PlannedKernel *kernel = plan.kernelOf(opName(product));
  if (!kernel || kernel->kernelClass != "strassen" || !options.transforms)
    return success();
  return takesStrassen(product) ? useStrassen(product), success() : refusePlan(product, *kernel, needOfStrassen);
}

void force(ConvOp conv, const AlgorithmOptions &options) {
  StringRef name = options.convolution;
  setAlgorithm(conv, name);
  if (name == "strassen" && options.transforms && takesStrassen(conv))
    useStrassen(conv);
  else if (name.consume_front("winograd") && options.transforms && takesWinograd(conv))
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
    if (failed(alterOpLayout(getOperation(), *machine, {convolution, product, maxWeightGrowth}, nullptr)))
      signalPassFailure();
  }
};

} // namespace

LogicalResult alterOpLayout(func::FuncOp main, const Target &target, const AlgorithmOptions &options,
                            const Plan *plan) {
  SmallVector<ConvOp> convolutions;
  SmallVector<MatMulOp> products;
  main.walk([&](ConvOp conv) { convolutions.push_back(conv); });
  main.walk([&](MatMulOp product) { products.push_back(product); });
  auto follow = [&](auto op) { return asPlanned(op, *plan, options); };
  if (plan)
    return success(llvm::all_of(convolutions, [&](ConvOp conv) { return succeeded(follow(conv)); }) &&
                   llvm::all_of(products, [&](MatMulOp product) { return succeeded(follow(product)); }));

  Growth growth(int64_t(options.maxWeightGrowth * double(constantBytes(main))));
  if (options.convolution == "auto") {
    CostTable<ConvOp> costs(options.transforms, target);
    for (ConvOp conv : convolutions) {
      if (costs.of(conv).isSpatialPackCheaper)
        setAlgorithm(conv, spatialPackName(conv));
      growth.offer(conv, costs.of(conv));
    }
  }
  if (options.product == "auto") {
    CostTable<MatMulOp> costs(options.transforms, target);
    for (MatMulOp product : products)
      growth.offer(product, costs.of(product));
  }
  growth.take();

  if (options.convolution != "auto" && options.convolution != "contract")
    for (ConvOp conv : convolutions)
      force(conv, options);
  if (options.product == "strassen" && options.transforms)
    for (MatMulOp product : products)
      if (takesStrassen(product))
        useStrassen(product);
  return success();
}

} // namespace fathom
