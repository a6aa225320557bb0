// The algorithms of convolutions: costs from the best schedule of each, weights that may grow within a budget.
#include "compiler/passes/AlterOpLayout.h"

#include "compiler/kernel/Choices.h"
#include "compiler/kernel/ConvAlgorithm.h"
#include "compiler/kernel/KernelClass.h"
#include "compiler/kernel/VectorWork.h"
#include "compiler/kernel/Winograd.h"
#include "compiler/passes/ConvertLayout.h"
#include "compiler/passes/Passes.h"
#include "compiler/support/Diagnostics.h"
#include <deque>

using namespace mlir;
using namespace fathom::graph;

namespace fathom {
#define GEN_PASS_DEF_ALTEROPLAYOUTPASS
#include "compiler/passes/Passes.h.inc"

namespace {

// Whether Winograd's method computes this convolution: windows of 3 x 3 that move by one, over all channels. Inside
// branches and loops nothing is folded, so that weights would be transformed in every run.
bool takesWinograd(ConvOp conv) {
  auto weight = cast<RankedTensorType>(conv.getWeight().getType());
  FailureOr<Window> window = getWindow(conv);
  return isa<func::FuncOp>(conv->getParentOp()) && succeeded(window) && weight.getRank() == 4 &&
         weight.hasStaticShape() && conv.getGroup() == 1 && weight.getElementType().isF32() &&
         isConstantValue(conv.getWeight()) && llvm::all_of(window->kernel, [](int64_t k) { return k == 3; }) &&
         llvm::all_of(window->strides, [](int64_t s) { return s == 1; }) &&
         llvm::all_of(window->dilations, [](int64_t d) { return d == 1; }) &&
         llvm::all_of(window->padsBegin, [](int64_t p) { return p >= 0; }) &&
         llvm::all_of(window->padsEnd, [](int64_t p) { return p >= 0; });
}

// The weights [K, C, 3, 3] as [positions, C, K]: every window multiplied by the transform from both sides.
Value transformedWeight(OpBuilder &b, ConvOp conv, int64_t tile) {
  const TransformMatrix &g = winograd::weightTransform(tile);
  SmallVector<float> both;
  for (const auto &down : g.rows)
    for (const auto &across : g.rows)
      for (double y : down)
        for (double x : across)
          both.push_back(float(y * x));
  int64_t positions = g.rows.size() * g.rows.size();
  ArrayRef<int64_t> shape = cast<RankedTensorType>(conv.getWeight().getType()).getShape();
  auto matrix = RankedTensorType::get({positions, 9}, b.getF32Type());
  Value transform = makeConstant(b, conv, DenseElementsAttr::get(matrix, ArrayRef<float>(both)));
  auto ahead = [&](auto op) {
    op->setAttr("graph.ahead", b.getUnitAttr());
    return op.getResult();
  };
  Value windows =
      ahead(createNamed<TransposeOp>(b, conv, ".windows", conv.getWeight(), b.getDenseI64ArrayAttr({2, 3, 1, 0})));
  Value flat = ahead(createNamed<ReshapeOp>(b, conv, ".flat", windows, makeInts(b, conv, {9, shape[1] * shape[0]})));
  Value product = ahead(createNamed<MatMulOp>(b, conv, ".transformed", transform, flat));
  return ahead(
      createNamed<ReshapeOp>(b, conv, ".positions", product, makeInts(b, conv, {positions, shape[1], shape[0]})));
}

void useWinograd(ConvOp conv, int64_t tile) {
  OpBuilder b(conv);
  Window window = *getWindow(conv);
  SmallVector<int64_t> pads(window.padsBegin);
  llvm::append_range(pads, window.padsEnd);
  Value weight = transformedWeight(b, conv, tile);
  auto made = createNamed<WinogradConvOp>(b, conv, "", conv.getInput(), weight, conv.getBias(), pads, tile);
  conv.getResult().replaceAllUsesWith(made.getResult());
  conv.erase();
}

// A step that makes a convolution faster and its weights larger.
struct Step {
  int64_t tile;
  double gain;
  int64_t bytes;
};

struct Costs {
  bool isSpatialPackCheaper = false;
  SmallVector<Step, 2> winograd;
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

Costs weigh(ConvOp conv, bool mayTransform, const Target &target) {
  // Groups of few channels waste lanes of a product's tiles. Without groups both have the same inner loops, and costs
  // of two models that differ by less than they err do not tell which is cheaper.
  double margin = conv.getGroup() > 1 ? 1 : 0.87;
  double product = bestContract(conv, target).score;
  Costs costs;
  if (!isDepthwise(conv) && spatialPackProblem(conv))
    costs.isSpatialPackCheaper = bestSpatialPack(conv, target).score < margin * product;
  if (mayTransform && takesWinograd(conv))
    costs.winograd = winogradSteps(conv, product, target);
  return costs;
}

// The costs of a model's convolutions. Models repeat their layers: equal ones are weighed once.
class CostTable {
public:
  CostTable(bool mayTransform, const Target &target) : mayTransform(mayTransform), target(target) {}

  const Costs &of(ConvOp conv) {
    auto entry = llvm::find_if(entries, [&](const auto &entry) { return costAlike(entry.first, conv); });
    return entry != entries.end() ? entry->second
                                  : entries.emplace_back(conv, weigh(conv, mayTransform, target)).second;
  }

private:
  bool mayTransform;
  const Target &target;
  std::deque<std::pair<ConvOp, Costs>> entries;
};

LogicalResult refusePlan(ConvOp conv, const PlannedKernel &kernel, StringRef need) {
  return emitError(conv, ErrorCode::BadPlan)
         << "kernel '" << kernel.name << "': class '" << kernel.kernelClass << "' is for " << need;
}

LogicalResult asPlanned(ConvOp conv, const Plan &plan, const AlgorithmOptions &options) {
  const PlannedKernel *kernel = plan.kernelOf(opName(conv));
  if (kernel && kernel->kernelClass == "spatial_pack") {
    if (isDepthwise(conv) || !spatialPackProblem(conv))
      return refusePlan(conv, *kernel, "convolutions of 32-bit floats with known channels, several of them in a group");
    setAlgorithm(conv, spatialPackName(conv));
  }
  if (!kernel || kernel->kernelClass != "winograd" || !options.transforms)
    return success();
  int64_t tile = kernel->schedule["tile"];
  if (!takesWinograd(conv) || (tile != 2 && tile != 4))
    return refusePlan(conv, *kernel,
                      "constant windows of 3 x 3 that move by one over all channels, with tile = 2 or 4");
  useWinograd(conv, tile);
  return success();
}

void force(ConvOp conv, const AlgorithmOptions &options) {
  StringRef name = options.convolution;
  setAlgorithm(conv, name);
  if (name.consume_front("winograd") && options.transforms && takesWinograd(conv))
    useWinograd(conv, name == "2" ? 2 : 4);
}

// Takes Winograd's method where it gains most for the bytes by which the weights grow.
void chooseWinograd(ArrayRef<ConvOp> convolutions, int64_t budget, CostTable &costs) {
  struct Option {
    ConvOp conv;
    Step step;
    size_t order;
    double gainOfByte() const { return step.gain / double(step.bytes); }
  };
  SmallVector<Option> options;
  for (ConvOp conv : convolutions)
    for (const Step &step : costs.of(conv).winograd)
      options.push_back({conv, step, options.size()});
  // The steps that gain most for a byte come first; a larger tile replaces the smaller one taken before.
  llvm::sort(options, [](const Option &a, const Option &b) {
    return a.gainOfByte() != b.gainOfByte() ? a.gainOfByte() > b.gainOfByte() : a.order < b.order;
  });
  llvm::MapVector<Operation *, int64_t> tiles;
  for (const auto &[conv, step, order] : options)
    if (step.bytes <= budget) {
      budget -= step.bytes;
      tiles[conv] = step.tile;
    }
  for (auto [conv, tile] : tiles)
    useWinograd(cast<ConvOp>(conv), tile);
}

void chooseByCost(ArrayRef<ConvOp> convolutions, int64_t budget, const AlgorithmOptions &options,
                  const Target &target) {
  CostTable costs(options.transforms, target);
  for (ConvOp conv : convolutions)
    if (costs.of(conv).isSpatialPackCheaper)
      setAlgorithm(conv, spatialPackName(conv));
  if (options.transforms)
    chooseWinograd(convolutions, budget, costs);
}

struct AlterOpLayoutPass : impl::AlterOpLayoutPassBase<AlterOpLayoutPass> {
  using AlterOpLayoutPassBase::AlterOpLayoutPassBase;
  void runOnOperation() override {
    auto machine = parseTarget(target);
    if (!machine) {
      emitError(getOperation().getLoc(), ErrorCode::BadTarget) << llvm::toString(machine.takeError());
      return signalPassFailure();
    }
    if (failed(alterOpLayout(getOperation(), *machine, {convolution, maxWeightGrowth}, nullptr)))
      signalPassFailure();
  }
};

} // namespace

LogicalResult alterOpLayout(func::FuncOp main, const Target &target, const AlgorithmOptions &options,
                            const Plan *plan) {
  SmallVector<ConvOp> convolutions;
  main.walk([&](ConvOp conv) { convolutions.push_back(conv); });
  if (plan) {
    for (ConvOp conv : convolutions)
      if (failed(asPlanned(conv, *plan, options)))
        return failure();
    return success();
  }
  if (options.convolution != "auto") {
    for (ConvOp conv : convolutions)
      if (options.convolution != "contract")
        force(conv, options);
    return success();
  }
  chooseByCost(convolutions, int64_t(options.maxWeightGrowth * double(constantBytes(main))), options, target);
  return success();
}

} // namespace fathom
