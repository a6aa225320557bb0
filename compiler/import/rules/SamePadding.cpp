// Convolutions and pooling with auto_pad SAME where the padding depends on sizes that are only known when the model
// runs: an explicit Pad, whose amounts are expressions over the symbols, and a window that needs none.
#include "compiler/graph/SizeMath.h"
#include "compiler/import/rules/Parts.h"
#include <cmath>

using namespace mlir;

namespace fathom::importer {
namespace {

// How many elements SAME adds along a dimension: so many that there are as many windows as strides.
AffineExpr samePadding(AffineExpr size, int64_t kernel, int64_t stride) {
  AffineExpr windows = graph::size::ceilDiv(size, stride);
  AffineExpr covered = graph::size::add(graph::size::mul(windows, stride), kernel - stride);
  AffineExpr missing = graph::size::sub(covered, size);
  if (kernel >= stride)
    return missing;
  // It lies between -stride and stride, and less than nothing is nothing.
  return graph::size::mul(missing, graph::size::floorDiv(graph::size::add(missing, stride), stride));
}

// The spatial sizes of the window, as the node or its weight gives them; nullopt where the op itself reports better.
std::optional<SmallVector<int64_t>> kernelOf(Node &node, size_t rank) {
  if (node.hasAttr("kernel_shape"))
    return node.intsAttr("kernel_shape");
  if (node.type() != "Conv" || !node.hasInput(1) || node.rank(1) != int64_t(rank + 2))
    return std::nullopt;
  SmallVector<int64_t> kernel;
  for (AffineExpr size : ArrayRef(graph::sizesOf(node.input(1))).drop_front(2)) {
    std::optional<int64_t> constant = graph::constantSize(size);
    if (!constant)
      return std::nullopt;
    kernel.push_back(*constant);
  }
  return kernel;
}

LogicalResult windowOp(Node &node) {
  graph::Sizes sizes = graph::sizesOf(node.input(0));
  size_t rank = sizes.size() < 2 ? 0 : sizes.size() - 2;
  auto isSymbolic = [](AffineExpr size) { return !graph::constantSize(size); };
  if (!node.hasAttr("auto_pad") || llvm::none_of(ArrayRef(sizes).drop_front(sizes.size() - rank), isSymbolic))
    return copyNode(node);
  std::string autoPad = node.stringAttr("auto_pad", "NOTSET").str();
  auto again = [&](ArrayRef<NamedAttribute> attrs) {
    SmallVector<NamedAttribute> all{node.attr("auto_pad", autoPad)};
    llvm::append_range(all, attrs);
    FailureOr<SmallVector<NamedAttribute>> others = node.takeAttrs(node.type());
    if (failed(others))
      return LogicalResult(failure());
    llvm::append_range(all, *others);
    Operation *op = node.create(node.type(), node.allInputs(), all, node.hasOutput(1) ? 2 : 1);
    return op ? node.finish(op->getResults()) : failure();
  };
  bool isSame = autoPad == "SAME_UPPER" || autoPad == "SAME_LOWER";
  std::optional<SmallVector<int64_t>> kernel = isSame ? kernelOf(node, rank) : std::nullopt;
  if (!kernel)
    return again({});
  auto list = [&](StringRef name) { return node.intsAttr(name).value_or(SmallVector<int64_t>(rank, 1)); };
  SmallVector<int64_t> strides = list("strides"), dilations = list("dilations");
  auto arrayOf = [&](ArrayRef<int64_t> values) { return node.builder().getDenseI64ArrayAttr(values); };
  SmallVector<NamedAttribute> attrs{node.attr("kernel_shape", arrayOf(*kernel)), node.attr("strides", arrayOf(strides)),
                                    node.attr("dilations", arrayOf(dilations))};
  bool isPlain = kernel->size() == rank && strides.size() == rank && dilations.size() == rank;
  for (auto list : {kernel->begin(), strides.begin(), dilations.begin()})
    for (size_t i = 0; isPlain && i < rank; ++i)
      isPlain = list[i] >= 1 && list[i] <= INT32_MAX;
  // Where the window moves by one, the op knows the padding itself; and it says what is wrong with the lists.
  if (!isPlain || llvm::all_of(strides, [](int64_t stride) { return stride == 1; }))
    return again(attrs);
  if (node.hasOutput(1))
    return node.error(ErrorCode::UnsupportedShape)
           << "auto_pad with indices needs constant spatial sizes, but the input has type " << node.inputText(0);
  SmallVector<AffineExpr> before(2, getAffineConstantExpr(0, node.context())), after = before;
  for (size_t i = 0; i < rank; ++i) {
    int64_t extent = ((*kernel)[i] - 1) * dilations[i] + 1;
    AffineExpr total = samePadding(sizes[i + 2], extent, strides[i]);
    AffineExpr half = total ? graph::size::floorDiv(total, 2) : AffineExpr();
    AffineExpr rest = half ? graph::size::sub(total, half) : AffineExpr();
    if (!rest)
      return node.error(ErrorCode::UnsupportedShape) << "the padding of " << node.type() << " is too complex";
    before.push_back(autoPad == "SAME_UPPER" ? half : rest);
    after.push_back(autoPad == "SAME_UPPER" ? rest : half);
  }
  llvm::append_range(before, after);
  auto padded = [&](Value value, double with) {
    Value number = node.scalar(with, node.elementType(0), "padding");
    return node.emit("Pad", {value, node.sizesValue(before, false, "pads"), number}, {}, "padded");
  };
  SmallVector<Value> operands = node.allInputs();
  operands[0] = padded(node.input(0), node.type() == "MaxPool" ? -INFINITY : 0);
  node.ignoreAttr("pads"); // as the operator does next to auto_pad
  bool countsPadding = node.type() != "AveragePool" || node.intAttr("count_include_pad", 0);
  FailureOr<SmallVector<NamedAttribute>> others = node.takeAttrs(node.type());
  if (failed(others))
    return failure();
  llvm::append_range(attrs, *others);
  Operation *op = node.create(node.type(), operands, attrs, 1, countsPadding ? "" : "all");
  if (!op || countsPadding)
    return op ? node.finish(op->getResults()) : failure();
  // What share of a window is not padding is the mean of ones.
  graph::Sizes one = sizes;
  one[0] = one[1] = getAffineConstantExpr(1, node.context());
  Value ones = node.emit("Expand", {node.scalar(1, node.elementType(0), "one"), node.sizesValue(one, false, "sizes")},
                         {}, "ones");
  Value share = node.emit("AveragePool", padded(ones, 0), attrs, "share");
  return node.finish(node.emit("Div", {op->getResult(0), share}));
}

} // namespace

ArrayRef<Rule> samePaddingRules() {
  static constexpr Rule rules[] = {{"Conv", 2, 3, windowOp},
                                   {"MaxPool", 1, 1, windowOp},
                                   {"AveragePool", 1, 1, windowOp},
                                   {"LpPool", 1, 1, windowOp}};
  return rules;
}

} // namespace fathom::importer
