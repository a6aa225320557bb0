// Rules of quantised operators of domain com.microsoft. Integer products stay what they are; all others have no
// operator of the standard, which writes them as they are written here: dequantise, compute, quantise.
#include "compiler/graph/SizeMath.h"
#include "compiler/import/rules/microsoft/Microsoft.h"

using namespace mlir;

namespace fathom::importer {
namespace {

// Inputs from `first` on are a quantised tensor, its scale and its zero point.
Value dequantized(Node &node, unsigned first, StringRef name) {
  return node.emit("DequantizeLinear", {node.input(first), node.input(first + 1), node.input(first + 2)}, {}, name);
}
// The result, quantised by a scale and a zero point; without a zero point it has that of the input's type.
LogicalResult finishQuantized(Node &node, Value value, unsigned scale, Type element) {
  Value zero = node.hasInput(scale + 1) ? node.input(scale + 1) : node.scalar(0, element, "zero_point");
  return node.finish(node.emit("QuantizeLinear", {value, node.input(scale), zero}));
}

LogicalResult binary(Node &node) {
  Value a = dequantized(node, 0, "a"), b = dequantized(node, 3, "b");
  Value result = node.emit(node.type() == "QLinearAdd" ? "Add" : "Mul", {a, b}, {}, "float");
  return finishQuantized(node, result, 6, node.elementType(0));
}

LogicalResult unary(Node &node) {
  Value input = dequantized(node, 0, "input"), result;
  if (node.type() == "QLinearSigmoid")
    result = node.emit("Sigmoid", input, {}, "float");
  else
    result = node.emit("LeakyRelu", input, node.floatAttrOf("alpha", node.floatAttr("alpha", 0.01)), "float");
  return finishQuantized(node, result, 3, node.elementType(0));
}

LogicalResult softmax(Node &node) {
  int64_t axis = node.intAttr("axis", -1), opset = node.intAttr("opset", 13);
  if (opset < 13 && graph::normalizeAxis(axis, node.rank(0)) != node.rank(0) - 1)
    return node.error(ErrorCode::UnsupportedAttribute) << "QLinearSoftmax over several axes is not supported";
  Value result = node.emit("Softmax", dequantized(node, 0, "input"), node.attr("axis", axis), "float");
  return finishQuantized(node, result, 3, node.elementType(0));
}

// Pooling, of channels that may be the last dimension.
LogicalResult averagePool(Node &node) {
  bool isLast = node.intAttr("channels_last", 0);
  int64_t rank = node.rank(0);
  if (rank < 3)
    return node.error(ErrorCode::BadShape) << "the input of " << node.type() << " has type " << node.inputText(0);
  StringRef name = node.type().drop_front(StringRef("QLinear").size());
  FailureOr<SmallVector<NamedAttribute>> attrs = node.takeAttrs(name);
  if (failed(attrs))
    return failure();
  SmallVector<int64_t> front{0, rank - 1}, back{0};
  for (int64_t d = 1; d < rank - 1; ++d)
    front.push_back(d), back.push_back(d + 1);
  back.push_back(1);
  Value value = dequantized(node, 0, "input");
  if (isLast && value)
    value = transpose(node, value, front, "channels_first");
  value = node.emit(name, value, *attrs, "float");
  if (isLast && value)
    value = transpose(node, value, back, "channels_last");
  return finishQuantized(node, value, 3, node.elementType(0));
}

LogicalResult concat(Node &node) {
  SmallVector<Value> parts;
  for (unsigned i = 2; i + 1 < node.numInputs(); i += 3) {
    if (!node.hasInput(i) || !node.hasInput(i + 1))
      return node.error(ErrorCode::BadGraph) << "input " << i << " of QLinearConcat or its scale is missing";
    parts.push_back(dequantized(node, i, "part"));
  }
  if (parts.empty())
    return node.error(ErrorCode::BadGraph) << "QLinearConcat has nothing to join";
  Value joined = node.emit("Concat", parts, node.attr("axis", node.intAttr("axis", 0)), "float");
  return finishQuantized(node, joined, 0, node.elementType(2));
}

// An integer product as a number, plus a bias. Operands are both sides, then their zero points.
Value scaled(Node &node, ValueRange operands, Value scale, Value bias, StringRef suffix) {
  Value sums = node.emit("MatMulInteger", operands, {}, "sums");
  bool hasBias = !isa<NoneType>(bias.getType());
  Value product = node.emit("Mul", {castAs(node, sums, node.builder().getF32Type(), "float"), scale}, {},
                            hasBias ? "product" : suffix);
  return hasBias ? node.emit("Add", {product, bias}, {}, suffix) : product;
}

LogicalResult matMulIntegerToFloat(Node &node) {
  Value scale = node.emit("Mul", {node.input(2), node.input(3)}, {}, "scale");
  return node.finish(
      scaled(node, {node.input(0), node.input(1), node.input(4), node.input(5)}, scale, node.input(6), ""));
}

// The left side is quantised with the range that it has.
LogicalResult dynamicQuantizeMatMul(Node &node) {
  if (!node.elementType(0).isF32())
    return node.error(ErrorCode::BadType) << "the first input of DynamicQuantizeMatMul must be float";
  Quantized lhs = quantizeByRange(node, node.input(0));
  if (!lhs.values)
    return failure();
  Value both = node.emit("Mul", {lhs.scale, node.input(2)}, {}, "scales");
  return node.finish(scaled(node, {lhs.values, node.input(1), lhs.zeroPoint, node.input(3)}, both, node.input(4), ""));
}

// Weights [directions, inputs, columns] with a scale and a zero point for each direction, and perhaps for each column,
// as the floats [directions, columns, inputs] of LSTM.
Value lstmWeights(Node &node, unsigned index, unsigned scale, StringRef name) {
  if (!node.hasInput(scale) || node.rank(index) != 3 || node.rank(scale) < 1 || node.rank(scale) > 2) {
    node.error(ErrorCode::BadShape) << name << " of DynamicQuantizeLSTM or its scale is missing or has a wrong rank";
    return {};
  }
  Type f32 = node.builder().getF32Type();
  auto spread = [&](Value value) {
    bool isPerColumn = cast<RankedTensorType>(value.getType()).getRank() == 2;
    return node.emit("Unsqueeze", {value, isPerColumn ? node.ints({1}, "axis") : node.ints({1, 2}, "axes")}, {}, name);
  };
  Value weights = castAs(node, node.input(index), f32, name);
  // They are four times as large, which is worth it: otherwise every step of the loop would make them anew.
  if (weights)
    weights.getDefiningOp()->setAttr("graph.ahead", node.builder().getUnitAttr());
  if (node.hasInput(scale + 1))
    weights = node.emit("Sub", {weights, spread(castAs(node, node.input(scale + 1), f32, name))}, {}, name);
  weights = node.emit("Mul", {weights, spread(node.input(scale))}, {}, name);
  return weights ? transpose(node, weights, {0, 2, 1}, name) : Value();
}

LogicalResult dynamicQuantizeLstm(Node &node) {
  if (!node.elementType(0).isF32())
    return node.error(ErrorCode::BadType) << "the first input of DynamicQuantizeLSTM must be float";
  Value input = lstmWeights(node, 1, 8, "W"), recurrent = input ? lstmWeights(node, 2, 10, "R") : Value();
  if (!recurrent)
    return failure();
  node.setInput(1, input);
  node.setInput(2, recurrent);
  return roundingLstm(node);
}

LogicalResult qGemm(Node &node) {
  double alpha = node.floatAttr("alpha", 1);
  bool isLeft = node.intAttr("transA", 0), isRight = node.intAttr("transB", 0), isFloat = !node.hasInput(7);
  if (node.rank(0) != 2 || node.rank(3) != 2)
    return node.error(ErrorCode::BadShape)
           << "QGemm needs matrices, but has " << node.inputText(0) << " and " << node.inputText(3);
  Value lhs = isLeft ? transpose(node, node.input(0), {1, 0}, "lhs") : node.input(0);
  // Scale and zero point may be there for every column of the result.
  Value rhs = isRight ? transpose(node, node.input(3), {1, 0}, "rhs") : node.input(3);
  Value sums = node.emit("MatMulInteger", {lhs, rhs, node.input(2), node.input(5)}, {}, "sums");
  if (node.hasInput(6))
    sums = node.emit("Add", {sums, node.input(6)}, {}, "biased");
  Value scale = withNumber(node, "Mul", node.emit("Mul", {node.input(1), node.input(4)}, {}, "scale"), alpha, "scale");
  Value result =
      node.emit("Mul", {castAs(node, sums, node.builder().getF32Type(), "float"), scale}, {}, isFloat ? "" : "product");
  return isFloat ? node.finish(result) : finishQuantized(node, result, 7, node.elementType(0));
}

} // namespace

ArrayRef<Rule> microsoftQuantizedRules() {
  static constexpr Rule rules[] = {
      {"QLinearAdd", 7, 8, binary},
      {"QLinearMul", 7, 8, binary},
      {"QLinearSigmoid", 4, 5, unary},
      {"QLinearLeakyRelu", 4, 5, unary},
      {"QLinearSoftmax", 4, 5, softmax},
      {"QLinearAveragePool", 4, 5, averagePool},
      {"QLinearGlobalAveragePool", 4, 5, averagePool},
      {"QLinearConcat", 4, anyNumber, concat},
      {"MatMulIntegerToFloat", 4, 7, matMulIntegerToFloat},
      {"DynamicQuantizeMatMul", 3, 5, dynamicQuantizeMatMul},
      {"DynamicQuantizeLSTM", 3, 12, dynamicQuantizeLstm},
      {"QGemm", 6, 9, qGemm},
  };
  return rules;
}

} // namespace fathom::importer
