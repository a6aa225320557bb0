// The network: a node for each value that is free, the source for pixels, the sink for rows.
#include "compiler/passes/PixelRegions.h"

#include "compiler/kernel/ConvAlgorithm.h"
#include "compiler/kernel/KernelClass.h"
#include "compiler/passes/ConvertLayout.h"
#include "compiler/passes/Passes.h"
#include "compiler/support/MinimumCut.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom {
namespace {

constexpr int64_t never = int64_t(1) << 60;
// More elements than any tensor has; what several of them weigh together stays below `never`.
constexpr uint64_t mostElements = uint64_t(1) << 48;
// A window over rows finds its channels far apart: what reading an element so costs, beside changing its order.
constexpr int64_t windowsOverRows = 4;

constexpr size_t pixels = MinimumCut::source, rows = MinimumCut::sink;

class Regions {
public:
  explicit Regions(func::FuncOp main) : main(main) {}

  DenseMap<Value, bool> choose() {
    main.walk([&](Operation *op) { addResults(op); });
    main.walk([&](Operation *op) { addUses(op); });
    std::vector<bool> isPixels = cut.solve();
    DenseMap<Value, bool> result;
    for (auto [value, node] : nodes)
      result[value] = isPixels[node];
    return result;
  }

private:
  // Whether the op's result may have either order. Others have a rule of their own.
  static bool isFree(Operation *op) {
    return op->getNumResults() == 1 && op->getNumOperands() > 0 && op->getNumRegions() == 0 && !isView(op) &&
           !isa<ConvOp, ConvTransposeOp, WinogradConvOp, MatMulOp, StrassenOp, RelayoutOp, SizesOp>(op) &&
           !keepsRows(op);
  }

  void addResults(Operation *op) {
    if (!isFree(op))
      return;
    auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
    if (type && type.getRank() > 2)
      nodes[op->getResult(0)] = cut.addNode();
  }

  size_t nodeOf(Value value) {
    if (auto found = nodes.find(value); found != nodes.end())
      return found->second;
    return isConvolution(value.getDefiningOp()) ? pixels : rows;
  }

  static int64_t elements(Operation *op, Value value) {
    uint64_t product = 1;
    for (AffineExpr size : sizesOf(value))
      product = llvm::SaturatingMultiply(product, uint64_t(std::max<int64_t>(1, representative(op, size))));
    return int64_t(std::min(product, mostElements));
  }

  // What the op's operands should look like.
  void addUses(Operation *op) {
    if (isa<ConstantOp, NoneOp, SizesOp, AssertOp>(op))
      return;
    size_t result = op->getNumResults() == 1 ? nodeOf(op->getResult(0)) : rows;
    bool isNode = op->getNumResults() == 1 && nodes.contains(op->getResult(0));
    for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
      auto type = dyn_cast<RankedTensorType>(operand.getType());
      if (!type || type.getRank() < 3 || isConstantValue(operand))
        continue;
      int64_t size = elements(op, operand);
      auto wants = [&](size_t side) { cut.addEdge(nodeOf(operand), side, size); };
      if (isConvolution(op) && i > 0)
        continue; // weights are packed in their own way
      if (isConvolution(op))
        wants(pixels);
      else if (auto transpose = dyn_cast<TransposeOp>(op))
        wants(movesChannelsBack(transpose) ? pixels : rows);
      else if (!isNode)
        wants(rows);
      else if (type.getRank() == cast<RankedTensorType>(op->getResult(0).getType()).getRank())
        cut.addEdge(nodeOf(operand), result, betweenResultAnd(op, operand, size));
    }
    if (isNode && isa<MaxPoolOp, AveragePoolOp, LpPoolOp>(op))
      cut.addEdge(result, pixels, windowsOverRows * elements(op, op->getResult(0)));
  }

  // What it costs that an operand has another order than the result.
  static int64_t betweenResultAnd(Operation *op, Value operand, int64_t size) {
    if (!op->hasTrait<Elementwise>())
      return never;
    return sizesOf(operand) == sizesOf(op->getResult(0)) ? size : 0;
  }

  // A transpose is a view: of pixels, this one has rows.
  static bool movesChannelsBack(TransposeOp op) {
    return op.getPerm() && op.getPerm()->front() == 0 && op.getPerm()->back() == 1 &&
           llvm::is_sorted(op.getPerm()->drop_back());
  }

  func::FuncOp main;
  MinimumCut cut;
  llvm::MapVector<Value, size_t> nodes;
};

} // namespace

DenseMap<Value, bool> choosePixelRegions(func::FuncOp main) { return Regions(main).choose(); }

} // namespace fathom
