// The table of ONNX Runtime's operators, and the rules of activations, normalisations and products.
#include "compiler/import/rules/microsoft/Microsoft.h"
#include "compiler/graph/SizeMath.h"

using namespace mlir;

namespace fathom::importer {

namespace {

// Gelu in its three spellings, with a bias that is added first.
LogicalResult gelu(Node &node) {
  Value input = node.input(0);
  if (node.hasInput(1))
    input = node.emit("Add", {input, node.input(1)}, {}, "biased");
  StringRef approximate = node.type() == "FastGelu" ? "tanh" : "none";
  return node.finish(node.emit("Gelu", input, node.attr("approximate", approximate)));
}

LogicalResult quickGelu(Node &node) {
  double alpha = node.floatAttr("alpha", 1.702);
  return node.finish(node.emit("Swish", node.input(0), node.floatAttrOf("alpha", alpha)));
}

// 1 / sqrt(mean(x * x) + epsilon) over the axes from `axis` on.
Value inverseRootMeanSquare(Node &node, Value input, int64_t axis, double epsilon) {
  int64_t rank = cast<RankedTensorType>(input.getType()).getRank();
  Value wide = castAs(node, input, node.builder().getF32Type(), "wide");
  Value axes = node.ints(llvm::to_vector(llvm::seq<int64_t>(axis, rank)), "axes");
  Value square = node.emit("ReduceMean", {node.emit("Mul", {wide, wide}, {}, "square"), axes}, {}, "mean_square");
  Value root = node.emit("Sqrt", withNumber(node, "Add", square, epsilon, "shifted"), {}, "root");
  return node.emit("Reciprocal", root, {}, "inverse");
}

LogicalResult simplifiedLayerNormalization(Node &node) {
  double epsilon = node.floatAttr("epsilon", 1e-5);
  int64_t given = node.intAttr("axis", -1);
  node.ignoreAttr("stash_type"); // intermediate results are never narrower than single precision
  std::optional<int64_t> axis = graph::normalizeAxis(given, node.rank(0));
  if (!axis)
    return node.error(ErrorCode::BadAttribute)
           << "axis " << given << " is out of range for a tensor of rank " << node.rank(0);
  SmallVector<Value> results{node.emit("RMSNormalization", {node.input(0), node.input(1)},
                                       {node.attr("axis", *axis), node.floatAttrOf("epsilon", epsilon)})};
  if (node.hasOutput(1))
    results.push_back(inverseRootMeanSquare(node, node.input(0), *axis, epsilon));
  return node.finish(results);
}

// The normalised sum of the input, another one and a bias; the sum is a result, too.
LogicalResult skipLayerNormalization(Node &node) {
  bool isSimplified = node.type() == "SkipSimplifiedLayerNormalization";
  NamedAttribute epsilon = node.floatAttrOf("epsilon", node.floatAttr("epsilon", 1e-12));
  unsigned biasIndex = isSimplified ? 3 : 4;
  if (node.rank(0) < 2)
    return node.error(ErrorCode::BadShape) << node.type() << " of a tensor of rank " << node.rank(0);
  Value sum = node.emit("Add", {node.input(0), node.input(1)}, {}, "sum");
  if (sum && graph::sizesOf(sum) != graph::sizesOf(node.input(0)))
    return node.error(ErrorCode::BadShape)
           << "the second input of " << node.type() << " does not broadcast to the first";
  if (node.hasInput(biasIndex))
    sum = node.emit("Add", {sum, node.input(biasIndex)}, {}, "biased");
  if (isSimplified) {
    if (node.hasOutput(1) || node.hasOutput(2))
      return node.error(ErrorCode::UnsupportedAttribute)
             << "mean and inv_std_var of " << node.type() << " are not supported";
    Value result = node.emit("RMSNormalization", {sum, node.input(2)}, epsilon);
    return node.finish({result, result, result, sum});
  }
  Operation *op = sum ? node.create("LayerNormalization", {sum, node.input(2), node.input(3)}, epsilon, 3) : nullptr;
  return op ? node.finish({op->getResult(0), op->getResult(1), op->getResult(2), sum}) : failure();
}

LogicalResult fusedMatMul(Node &node) {
  double alpha = node.floatAttr("alpha", 1);
  Value sides[2];
  for (unsigned i : {0u, 1u}) {
    bool isTransposed = node.intAttr(i ? "transB" : "transA", 0);
    bool isBatchInside = node.intAttr(i ? "transBatchB" : "transBatchA", 0);
    int64_t rank = node.rank(i);
    SmallVector<int64_t> perm = llvm::to_vector(llvm::seq<int64_t>(0, rank));
    // The rows come first, then the batch.
    if (isBatchInside && rank > 2)
      std::rotate(perm.begin(), perm.begin() + 1, perm.end() - 1);
    if (isTransposed && rank > 1)
      std::swap(perm[rank - 2], perm[rank - 1]);
    sides[i] = llvm::is_sorted(perm) ? node.input(i) : transpose(node, node.input(i), perm, i ? "right" : "left");
  }
  if (alpha == 1)
    return node.finish(node.emit("MatMul", {sides[0], sides[1]}));
  return node.finish(withNumber(node, "Mul", node.emit("MatMul", {sides[0], sides[1]}, {}, "product"), alpha, ""));
}

// Scales, zero points and weights as matrices with a row for every column of the result.
LogicalResult matMulNBits(Node &node) {
  int64_t columns = node.intAttr("N", 0), depth = node.intAttr("K", 0), block = node.intAttr("block_size", 0);
  int64_t bits = node.intAttr("bits", 4);
  // How much the input may be rounded while computing; here it is not.
  node.ignoreAttr("accuracy_level");
  if (node.intAttr("weight_prepacked", 0) != 0)
    return node.error(ErrorCode::UnsupportedAttribute) << "weights prepacked for one kind of device are not supported";
  if (node.hasInput(4))
    return node.error(ErrorCode::UnsupportedAttribute) << "g_idx of MatMulNBits is not supported";
  if (columns < 1 || depth < 1 || block < 16 || !llvm::isPowerOf2_64(block) || columns > INT32_MAX ||
      depth > INT32_MAX || block > INT32_MAX)
    return node.error(ErrorCode::BadAttribute)
           << "N = " << columns << ", K = " << depth << ", block_size = " << block
           << ": sizes must be positive and the block size a power of two of at least 16";
  if (bits != 4 && bits != 8)
    return node.error(ErrorCode::UnsupportedAttribute) << bits << " bits of MatMulNBits; 4 and 8 are supported";
  int64_t blocks = llvm::divideCeil(depth, block);
  auto matrix = [&](unsigned index, int64_t rowElements, StringRef name) -> Value {
    if (!node.inputType(index).hasStaticShape() || node.inputType(index).getNumElements() != columns * rowElements) {
      node.error(ErrorCode::BadShape) << name << " has type " << node.inputText(index) << ", where " << columns
                                      << " rows of " << rowElements << " elements are needed";
      return {};
    }
    return node.rank(index) == 2 ? node.input(index) : reshape(node, node.input(index), {columns, rowElements}, name);
  };
  Type element = node.elementType(0);
  if (!element.isF32() && !element.isF16() && !element.isBF16())
    return node.error(ErrorCode::BadType) << "the input of MatMulNBits must be float, float16 or bfloat16";
  if (!node.elementType(1).isUnsignedInteger(8))
    return node.error(ErrorCode::BadType) << "the weights of MatMulNBits must be uint8";
  if (node.elementType(2) != node.elementType(0))
    return node.error(ErrorCode::BadType) << "the scales of MatMulNBits must have the input's type";
  Value zeroPoints = node.none();
  if (node.hasInput(3)) {
    bool isPacked = node.elementType(3).isUnsignedInteger(8);
    if (!isPacked && node.elementType(3) != node.elementType(0))
      return node.error(ErrorCode::BadType) << "the zero points of MatMulNBits must be uint8 or of the input's type";
    zeroPoints = matrix(3, isPacked ? int64_t(llvm::divideCeil(blocks * bits, 8)) : blocks, "zero_points");
  }
  Value weight = matrix(1, blocks * block * bits / 8, "weight"), scales = matrix(2, blocks, "scales");
  if (!weight || !scales || !zeroPoints)
    return failure();
  SmallVector<NamedAttribute> attrs{node.attr("K", depth), node.attr("N", columns), node.attr("bits", bits),
                                    node.attr("block_size", block)};
  bool hasBias = node.hasInput(5);
  Value product =
      node.emit("MatMulNBits", {node.input(0), weight, scales, zeroPoints}, attrs, hasBias ? "product" : "");
  return node.finish(hasBias ? node.emit("Add", {product, node.input(5)}) : product);
}

ArrayRef<Rule> generalRules() {
  static constexpr Rule rules[] = {
      {"Gelu", 1, 1, gelu},
      {"FastGelu", 1, 2, gelu},
      {"BiasGelu", 2, 2, gelu},
      {"QuickGelu", 1, 1, quickGelu},
      {"SimplifiedLayerNormalization", 2, 2, simplifiedLayerNormalization},
      {"SkipSimplifiedLayerNormalization", 3, 4, skipLayerNormalization},
      {"SkipLayerNormalization", 3, 5, skipLayerNormalization},
      {"LayerNormalization", 2, 3, copyNode},
      {"FusedMatMul", 2, 2, fusedMatMul},
      {"TransposeMatMul", 2, 2, fusedMatMul},
      {"MatMulNBits", 3, 6, matMulNBits},
  };
  return rules;
}

const Rule *findRule(StringRef op) {
  static const llvm::StringMap<const Rule *> rules = [] {
    llvm::StringMap<const Rule *> map;
    for (ArrayRef<Rule> family : {generalRules(), microsoftAttentionRules(), microsoftFusedRules(),
                                  microsoftGroupQueryRules(), microsoftMultiHeadRules(), microsoftQuantizedRules()})
      for (const Rule &rule : family)
        map[rule.op] = &rule;
    return map;
  }();
  return rules.lookup(op);
}

} // namespace

bool isMicrosoft(StringRef domain, StringRef op) {
  return findRule(op) && (domain == "com.microsoft" || (domain.empty() && op == "SimplifiedLayerNormalization"));
}

LogicalResult normalizeMicrosoft(Node &node) { return applyRule(*findRule(node.type()), node); }

} // namespace fathom::importer
