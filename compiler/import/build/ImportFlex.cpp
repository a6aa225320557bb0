// FlexAttention: attention with graphs of the model that change its scores and its shares.
#include "compiler/graph/SizeMath.h"
#include "compiler/import/build/Importer.h"
#include "compiler/import/rules/microsoft/Microsoft.h"
#include "compiler/import/sequence/Sequence.h"
#include <cmath>

using namespace mlir;

namespace fathom::importer {

using Values = FailureOr<SmallVector<Value>>;

bool Importer::isFlexAttention(StringRef domain, StringRef op) {
  return domain == "ai.onnx.preview" && op == "FlexAttention";
}

Values Importer::importFlexAttention(Node &node, const Attributes &attributes, Scope &scope) {
  namespace size = graph::size;
  if (node.numInputs() != 3 || !node.hasInput(0) || !node.hasInput(1) || !node.hasInput(2))
    return node.error(ErrorCode::BadGraph) << "FlexAttention needs a query, a key and a value";
  std::optional<graph::Sizes> q = sizesOfRank(node, node.input(0), 4, "the query"),
                              k = sizesOfRank(node, node.input(1), 4, "the key"),
                              v = sizesOfRank(node, node.input(2), 4, "the value");
  if (!q || !k || !v)
    return failure();
  Type element = node.elementType(0), given = node.typeAttr("softmax_precision");
  if (!isa<FloatType>(element) || node.elementType(1) != element || node.elementType(2) != element ||
      (given && !isa<FloatType>(given)))
    return node.error(ErrorCode::BadType) << "FlexAttention of " << node.inputText(0) << ", " << node.inputText(1)
                                          << " and " << node.inputText(2) << " needs one type of floats";
  AffineExpr shared = size::exactDiv((*q)[1], (*k)[1]);
  std::optional<int64_t> columns = graph::constantSize((*q)[3]);
  if (!shared || !columns)
    return node.error(ErrorCode::BadShape)
           << "FlexAttention has a query " << node.inputText(0) << " and a key " << node.inputText(1)
           << "; the heads of one must be known to divide those of "
           << "the other, and the columns must be known";
  if (failed(node.requireSame((*k)[1], (*v)[1], "the heads of key and value")) ||
      failed(node.requireSame((*k)[2], (*v)[2], "the lengths of key and value")) ||
      failed(node.requireSame((*q)[3], (*k)[3], "the columns of query and key")))
    return failure();
  double scale = node.hasAttr("scale") ? node.floatAttr("scale", 1) : 1 / std::sqrt(double(*columns));
  // Halves are summed up in single precision.
  Type precise = given ? given : element.getIntOrFloatBitWidth() < 32 ? Type(node.builder().getF32Type()) : element;
  AffineExpr batch = (*q)[0], heads = (*q)[1], sequence = (*q)[2], length = (*k)[2], rows = size::mul(shared, sequence);
  double root = std::sqrt(scale);
  Value query = withNumber(node, "Mul", node.input(0), root, "query"),
        key = withNumber(node, "Mul", node.input(1), root, "key");
  // The heads that share keys are rows of one product.
  Value scores = node.emit(
      "MatMul",
      {reshapeTo(node, query, {batch, (*k)[1], rows, (*q)[3]}, "rows"), transpose(node, key, {0, 1, 3, 2}, "columns")},
      {}, "products");
  scores = castAs(node, reshapeTo(node, scores, {batch, heads, sequence, length}, "scores"), precise, "precise");
  graph::Sizes sizes{batch, heads, sequence, length};
  auto modified = [&](Value value, StringRef name) -> Value {
    if (!value || !attributes.lookup(name))
      return value;
    const onnx::GraphProto *graph = graphOf(node, attributes, name);
    Values made = graph ? importGraph(*graph, value, scope, node, (name + "/").str()) : Values(failure());
    if (failed(made))
      return {};
    auto type = made->size() == 1 && !isCompound(made->front()) ? cast<RankedTensorType>(made->front().getType())
                                                                : RankedTensorType();
    if (!type || type.getRank() != 4 || !isa<FloatType>(type.getElementType())) {
      node.error(ErrorCode::BadGraph) << name << " of FlexAttention must give one tensor like the one it takes";
      return {};
    }
    for (auto [own, wanted] : llvm::zip_equal(graph::sizesOf(type), sizes))
      if (failed(node.requireSame(own, wanted, "a size that " + name.str() + " gives")))
        return {};
    return castAs(node, made->front(), precise, "precise");
  };
  scores = modified(scores, "score_mod");
  Value shares = modified(node.emit("Softmax", scores, node.attr("axis", -1), "shares"), "prob_mod");
  Value mixed = node.emit("MatMul",
                          {reshapeTo(node, shares, {batch, (*k)[1], rows, length}, "shares"),
                           castAs(node, node.input(2), precise, "value")},
                          {}, "mixed");
  Value result = reshapeTo(node, mixed, {batch, heads, sequence, (*v)[3]}, precise == element ? "" : "heads");
  result = castAs(node, result, element, "");
  return result ? Values(SmallVector<Value>{result}) : Values(failure());
}

} // namespace fathom::importer
