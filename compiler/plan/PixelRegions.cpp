// The network: a node for each value that is free, the source for pixels, the sink for rows.
#include "compiler/plan/PixelRegions.h"

#include "compiler/graph/Layout.h"
#include "compiler/kernel/KernelClass.h"
#include "compiler/passes/Passes.h"
#include "compiler/plan/ConvertLayout.h"
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

// How many values are looked at for a convolution: bounds the search on huge graphs.
constexpr unsigned horizon = 64;

constexpr size_t pixels = MinimumCut::source, rows = MinimumCut::sink;

class Regions {
public:
  Regions(func::FuncOp main, const Backend &backend, const Target &target) : main(main) {
    main.walk([&](Operation *op) {
      if (std::optional<AnchorLayouts> wanted = backend.layoutsOf(op, target))
        anchors[op] = *std::move(wanted);
    });
  }

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
  // Whether the op's kernel has the channels of its result, or of an operand, innermost.
  bool writesPixels(Operation *op) const {
    auto found = anchors.find(op);
    return found != anchors.end() && found->second.writesPixels;
  }
  bool readsPixels(OpOperand &use) const {
    auto found = anchors.find(use.getOwner());
    return found != anchors.end() && llvm::any_of(found->second.operands, [&](const OperandLayout &layout) {
             return layout.kind == OperandLayout::Pixels && layout.operand == use.getOperandNumber();
           });
  }

  // Whether the op's result may have either order. Others have a rule of their own.
  bool isFree(Operation *op) const {
    return op->getNumResults() == 1 && op->getNumOperands() > 0 && op->getNumRegions() == 0 && !isView(op) &&
           !anchors.contains(op) && !isa<RelayoutOp, SizesOp>(op) && !keepsRows(op);
  }

  void addResults(Operation *op) {
    if (!isFree(op) && !keepsPixels(op) && !makesPixels(op))
      return;
    auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
    if (type && type.getRank() > 2)
      nodes[op->getResult(0)] = cut.addNode();
  }

  // The type of a value that has its channels innermost.
  static RankedTensorType asPixels(Value value) {
    auto type = withoutLayout(cast<RankedTensorType>(value.getType()));
    return withLayout(type, channelsLast(type.getRank()));
  }

  static bool hasImages(Value value) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    return type && type.getRank() > 2;
  }

  // Whether an op is a view that has its channels innermost where its operand has, as of pixels in one row.
  static bool keepsPixels(Operation *op) {
    if (!isView(op) || isa<TransposeOp, SliceOp>(op) || !hasImages(op->getOperand(0)) || !hasImages(op->getResult(0)))
      return false;
    auto order = viewedOrder(op, asPixels(op->getOperand(0)));
    return order && *order == channelsLast(order->size());
  }

  // Whether a transpose of rows, which no convolution writes, is seen as pixels by one that reads it: a tensor that was
  // computed with its channels innermost, by products of matrices.
  bool makesPixels(Operation *op) {
    if (!isa<TransposeOp>(op) || !hasImages(op->getResult(0)))
      return false;
    auto order = viewedOrder(op, withoutLayout(cast<RankedTensorType>(op->getOperand(0).getType())));
    return order && *order == channelsLast(order->size()) && !comesFromPixels(op->getOperand(0)) &&
           leadsToPixels(op->getResult(0));
  }

  // Whether a convolution writes, or reads, a value of the same order, as far as one looks.
  bool comesFromPixels(Value value) {
    llvm::SmallSetVector<Value, 8> same;
    same.insert(value);
    for (size_t i = 0; i < same.size() && i < horizon; ++i) {
      Operation *op = same[i].getDefiningOp();
      if (writesPixels(op))
        return true;
      if (op && (isFree(op) || keepsPixels(op)))
        for (Value operand : op->getOperands())
          if (hasImages(operand))
            same.insert(operand);
    }
    return false;
  }
  bool leadsToPixels(Value value) {
    llvm::SmallSetVector<Value, 8> same;
    same.insert(value);
    for (size_t i = 0; i < same.size() && i < horizon; ++i)
      for (OpOperand &use : same[i].getUses()) {
        Operation *op = use.getOwner();
        if (readsPixels(use))
          return true;
        if ((isFree(op) || keepsPixels(op)) && hasImages(op->getResult(0)))
          same.insert(op->getResult(0));
      }
    return false;
  }

  // Whether a view of a value in this order, or all views of the view, have rows.
  static bool becomesRows(Operation *view, RankedTensorType input, unsigned depth = 0) {
    std::optional<SmallVector<int64_t>> order = viewedOrder(view, input);
    if (!order || depth == horizon)
      return false;
    Value result = view->getResult(0);
    auto type = withLayout(withoutLayout(cast<RankedTensorType>(result.getType())), *order);
    return isRowMajor(type) || (!result.use_empty() && llvm::all_of(result.getUsers(), [&](Operation *user) {
             return isView(user) && !isa<SliceOp>(user) && becomesRows(user, type, depth + 1);
           }));
  }

  size_t nodeOf(Value value) {
    if (auto found = nodes.find(value); found != nodes.end())
      return found->second;
    return writesPixels(value.getDefiningOp()) ? pixels : rows;
  }

  static int64_t elements(Operation *op, Value value) {
    uint64_t product = 1;
    for (AffineExpr size : sizesOf(value))
      product = llvm::SaturatingMultiply(product, uint64_t(std::max<int64_t>(1, representative(op, size))));
    return int64_t(std::min(product, mostElements));
  }

  // What the op's operands should look like.
  void addUses(Operation *op) {
    if (isKnown(op) || isa<AssertOp>(op))
      return;
    size_t result = op->getNumResults() == 1 ? nodeOf(op->getResult(0)) : rows;
    bool isNode = op->getNumResults() == 1 && nodes.contains(op->getResult(0));
    for (OpOperand &use : op->getOpOperands()) {
      Value operand = use.get();
      auto type = dyn_cast<RankedTensorType>(operand.getType());
      if (!type || type.getRank() < 3 || isConstantValue(operand))
        continue;
      int64_t size = elements(op, operand);
      auto wants = [&](size_t side) { cut.addEdge(nodeOf(operand), side, size); };
      if (readsPixels(use))
        wants(pixels);
      else if (writesPixels(op))
        continue; // weights are packed in their own way
      else if (isNode && isa<TransposeOp>(op))
        wants(rows), cut.addEdge(result, pixels, size);
      else if (isNode && isView(op))
        cut.addEdge(nodeOf(operand), result, size);
      else if (isView(op) && use.getOperandNumber() == 0)
        wants(becomesRows(op, asPixels(operand)) ? pixels : rows);
      else if (!isNode)
        wants(rows);
      else if (type.getRank() == cast<RankedTensorType>(op->getResult(0).getType()).getRank())
        cut.addEdge(nodeOf(operand), result, betweenResultAnd(op, operand, size));
    }
    if (isNode && op->hasTrait<Pooling>())
      cut.addEdge(result, pixels, windowsOverRows * elements(op, op->getResult(0)));
  }

  // What it costs that an operand has another order than the result.
  static int64_t betweenResultAnd(Operation *op, Value operand, int64_t size) {
    if (!op->hasTrait<Elementwise>())
      return never;
    return sizesOf(operand) == sizesOf(op->getResult(0)) ? size : 0;
  }

  func::FuncOp main;
  DenseMap<Operation *, AnchorLayouts> anchors;
  MinimumCut cut;
  llvm::MapVector<Value, size_t> nodes;
};

} // namespace

DenseMap<Value, bool> choosePixelRegions(func::FuncOp main, const Backend &backend, const Target &target) {
  return Regions(main, backend, target).choose();
}

} // namespace fathom
