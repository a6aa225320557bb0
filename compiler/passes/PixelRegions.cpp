// The network: a node for each value that is free, the source for pixels, the sink for rows.
#include "compiler/passes/PixelRegions.h"

#include "compiler/kernel/KernelClass.h"
#include "compiler/passes/ConvertLayout.h"
#include "compiler/passes/Passes.h"
#include "compiler/support/MinimumCut.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom {
namespace {

constexpr int64_t never = int64_t(1) << 60;
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
           !isa<ConvOp, WinogradConvOp, MatMulOp, RelayoutOp, SizesOp>(op) && !keepsRows(op);
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
    return isa_and_nonnull<ConvOp, WinogradConvOp>(value.getDefiningOp()) ? pixels : rows;
  }

  static int64_t elements(Operation *op, Value value) {
    int64_t product = 1;
    for (AffineExpr size : sizesOf(value))
      product = std::min(never, product * std::max<int64_t>(1, representative(op, size)));
    return product;
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
      if (isa<ConvOp, WinogradConvOp>(op))
        cut.addEdge(nodeOf(operand), i == 0 ? pixels : rows, i == 0 ? size : 0);
      else if (auto transpose = dyn_cast<TransposeOp>(op))
        cut.addEdge(nodeOf(operand), movesChannelsBack(transpose) ? pixels : rows, size);
      else if (!isNode)
        cut.addEdge(nodeOf(operand), rows, size);
      else if (sizesOf(operand).size() == sizesOf(op->getResult(0)).size())
        cut.addEdge(nodeOf(operand), result, betweenResultAnd(op, operand, size));
    }
    if (isNode && isa<MaxPoolOp, AveragePoolOp>(op))
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
    int64_t rank = op.getType().getRank();
    return op.getPerm() && op.getPerm()->front() == 0 && op.getPerm()->back() == 1 &&
           llvm::is_sorted(op.getPerm()->drop_back()) && rank > 2;
  }

  func::FuncOp main;
  MinimumCut cut;
  llvm::MapVector<Value, size_t> nodes;
};

} // namespace

DenseMap<Value, bool> choosePixelRegions(func::FuncOp main) { return Regions(main).choose(); }

} // namespace fathom
