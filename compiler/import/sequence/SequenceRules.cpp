// Rules of the operators on sequences and optionals.
#include "compiler/graph/Graph.h"
#include "compiler/graph/SizeMath.h"
#include "compiler/import/node/Normalize.h"
#include "compiler/import/read/DeclaredType.h"
#include "compiler/import/rules/Parts.h"
#include "compiler/import/sequence/Sequence.h"

using namespace mlir;

namespace fathom::importer {
namespace {

// More parts than this become a packed sequence, so that the code does not grow with the sizes of tensors.
constexpr int64_t mostListed = 64;

LogicalResult identity(Node &node) { return isCompound(node.input(0)) ? node.finish(node.input(0)) : copyNode(node); }

LogicalResult empty(Node &node) {
  Type element = node.hasAttr("dtype") ? node.typeAttr("dtype") : Type(node.builder().getF32Type());
  return element ? node.finish(listed(node, {}, element)) : failure();
}

LogicalResult checkTensor(Node &node, unsigned index) {
  if (!node.hasInput(index) || !isCompound(node.input(index)))
    return success();
  return node.error(ErrorCode::BadType) << "input " << index << " of " << node.type() << " must be a tensor";
}

LogicalResult construct(Node &node) {
  for (unsigned i = 0; i < node.numInputs(); ++i) {
    if (!node.hasInput(i))
      return node.error(ErrorCode::BadGraph) << "input " << i << " of " << node.type() << " is missing";
    if (failed(checkTensor(node, i)))
      return failure();
    if (node.elementType(i) != node.elementType(0))
      return node.error(ErrorCode::BadType) << "elements of " << graph::elementText(node.elementType(0)) << " and of "
                                            << graph::elementText(node.elementType(i)) << " cannot be in one sequence";
  }
  return node.finish(listed(node, node.allInputs(), node.elementType(0)));
}

LogicalResult length(Node &node) {
  Value sequence = sequenceOf(node, node.input(0));
  return sequence ? node.finish(sizeScalar(node, lengthOf(node, sequence), "")) : failure();
}

// The operators that take a position as their last input.
LogicalResult at(Node &node) {
  Value sequence = sequenceOf(node, node.input(0));
  if (!sequence || failed(checkTensor(node, 1)))
    return failure();
  return node.finish(sequenceAt(node, sequence, node.input(1)));
}
LogicalResult insert(Node &node) {
  Value sequence = sequenceOf(node, node.input(0));
  if (!sequence || failed(checkTensor(node, 1)) || failed(checkTensor(node, 2)))
    return failure();
  return node.finish(sequenceInsert(node, sequence, node.input(1), node.hasInput(2) ? node.input(2) : Value()));
}
LogicalResult erase(Node &node) {
  Value sequence = sequenceOf(node, node.input(0));
  if (!sequence || failed(checkTensor(node, 1)))
    return failure();
  return node.finish(sequenceErase(node, sequence, node.hasInput(1) ? node.input(1) : Value()));
}

LogicalResult concat(Node &node) {
  if (!node.hasAttr("axis"))
    return node.error(ErrorCode::BadAttribute) << "axis is missing";
  int64_t axis = node.intAttr("axis", 0), isNewAxis = node.intAttr("new_axis", 0);
  Value sequence = sequenceOf(node, node.input(0));
  return sequence ? node.finish(concatSequence(node, sequence, axis, isNewAxis != 0)) : failure();
}

// A list of parts of these lengths.
Value splitList(Node &node, Value lengths, int64_t count, int64_t axis) {
  Operation *op = node.create("Split", {node.input(0), lengths}, node.attr("axis", axis), count, "parts");
  return op ? listed(node, op->getResults(), node.elementType(0)) : Value();
}

// The lengths of parts that all are `each` long, but for the last.
Value equalLengths(Node &node, Value each, AffineExpr size) {
  Type i64 = node.builder().getI64Type();
  Value pinned = node.pinned(each, "each"), whole = sizeScalar(node, size, "size"), one = node.scalar(1, i64, "one");
  if (!pinned)
    return {};
  assertNotNegative(node, graph::size::add(graph::elementsOf(pinned)->front(), -1), "split must be at least 1");
  Value divisor = node.emit("Max", {each, one}, {}, "divisor");
  Value rounded = node.emit("Add", {whole, node.emit("Sub", {divisor, one}, {}, "round")}, {}, "rounded");
  Value count = node.pinned(node.emit("Div", {rounded, divisor}, {}, "count"), "count");
  if (!count)
    return {};
  Value before = node.emit("Mul", {countUp(node, graph::elementsOf(count)->front(), "part"), divisor}, {}, "before");
  return node.emit("Min", {divisor, node.emit("Sub", {whole, before}, {}, "rest")}, {}, "lengths");
}

constexpr StringLiteral wrongLengths = "the sizes of the parts are negative or do not add up to the axis";

// Lengths as the model gives them, of any number: not negative, and the axis in sum.
Value givenLengths(Node &node, Value lengths, AffineExpr size) {
  Value zero = node.ints({0}, "zero");
  Value all = node.emit("Concat", {lengths, zero}, node.attr("axis", int64_t(0)), "all");
  Value least = node.emit("ReduceMin", all, {}, "least"), total = node.emit("ReduceSum", all, {}, "total");
  // A symbol is not negative, which is checked where it gets its value.
  Value pinned =
      node.pinned(node.emit("Concat", {least, total}, node.attr("axis", int64_t(0)), "limits"), "limit", wrongLengths);
  if (!pinned)
    return {};
  AffineExpr sum = (*graph::elementsOf(pinned))[1];
  assertNotNegative(node, {graph::size::sub(sum, size), graph::size::sub(size, sum)}, wrongLengths);
  return lengths;
}

// Without lengths every part is one index long, and may lose the axis.
Value splitEach(Node &node, int64_t axis, bool keepsAxis) {
  graph::Sizes sizes = graph::sizesOf(node.input(0)), part = sizes;
  AffineExpr one = getAffineConstantExpr(1, node.context());
  if (keepsAxis)
    part[axis] = one;
  else
    part.erase(part.begin() + axis);
  std::optional<int64_t> size = graph::constantSize(sizes[axis]);
  if (!size || *size > mostListed)
    return unstack(node, node.input(0), axis, part);
  if (*size == 0)
    return listed(node, {}, node.elementType(0));
  Value parts = splitList(node, node.ints(SmallVector<int64_t>(*size, 1), "split"), *size, axis);
  if (!parts || keepsAxis)
    return parts;
  SmallVector<Value> elements(parts.getDefiningOp<graph::ListedOp>().getElements());
  for (Value &element : elements)
    element = reshapeTo(node, element, part, "part");
  return listed(node, elements, node.elementType(0));
}

LogicalResult split(Node &node) {
  if (failed(checkTensor(node, 0)) || failed(checkTensor(node, 1)))
    return failure();
  int64_t given = node.intAttr("axis", 0);
  bool keepsAxis = node.intAttr("keepdims", 1) != 0;
  std::optional<int64_t> axis = graph::normalizeAxis(given, node.rank(0));
  if (!axis)
    return node.error(ErrorCode::BadAttribute)
           << "axis " << given << " is out of range for a tensor of rank " << node.rank(0);
  if (!node.hasInput(1))
    return node.finish(splitEach(node, *axis, keepsAxis));
  Value lengths = node.input(1);
  AffineExpr size = graph::sizesOf(node.input(0))[*axis];
  if (node.rank(1) > 1 || !isa<IntegerType>(node.elementType(1)))
    return node.error(ErrorCode::BadType) << "split must be an integer or a vector of them, not " << node.inputText(1);
  if (!node.elementType(1).isInteger(64))
    lengths = node.emit("Cast", lengths, node.attr("to", TypeAttr::get(node.builder().getI64Type())), "split");
  std::optional<int64_t> whole = graph::constantSize(size);
  auto known = lengths ? graph::constantElementsOf(lengths) : std::nullopt;
  if (node.rank(1) == 0 && known && whole) {
    if (known->front() < 1)
      return node.error(ErrorCode::BadShape) << "parts of length " << known->front() << " cannot be split off";
    SmallVector<int64_t> list;
    for (int64_t from = 0; from < *whole; from += known->front())
      list.push_back(std::min(known->front(), *whole - from));
    if (list.empty())
      return node.finish(listed(node, {}, node.elementType(0)));
    if (int64_t(list.size()) <= mostListed)
      return node.finish(splitList(node, node.ints(list, "split"), list.size(), *axis));
    return node.finish(splitInto(node, node.input(0), node.ints(list, "split"), *axis));
  }
  if (node.rank(1) == 0)
    return node.finish(splitInto(node, node.input(0), equalLengths(node, lengths, size), *axis));
  std::optional<int64_t> count = graph::constantSize(graph::sizesOf(node.input(1))[0]);
  if (count && *count > 0 && *count <= mostListed)
    return node.finish(splitList(node, node.pinned(lengths, "split"), *count, *axis));
  return node.finish(splitInto(node, node.input(0), givenLengths(node, lengths, size), *axis));
}

LogicalResult optional(Node &node) {
  const onnx::TypeProto *type = node.typeProtoAttr("type");
  if (node.hasInput(0)) {
    if (isOptional(node.input(0)))
      return node.error(ErrorCode::BadType) << "an optional cannot hold an optional";
    return node.finish(maybe(node, true, node.input(0)));
  }
  if (!type)
    return node.error(ErrorCode::BadAttribute) << "Optional has neither an input nor a type";
  std::optional<DeclaredType> declared = readType(*type, node.loc(), "attribute 'type' of Optional");
  if (!declared || declared->isOptional)
    return failure();
  Value content = declared->isSequence ? listed(node, {}, declared->element)
                                       : filler(node, declared->element, declared->rank.value_or(0));
  return node.finish(maybe(node, false, content));
}

LogicalResult hasElement(Node &node) {
  Type i1 = node.builder().getI1Type();
  if (!node.hasInput(0) || !isOptional(node.input(0)))
    return node.finish(node.scalar(node.hasInput(0), i1, ""));
  return node.finish(node.emit("Identity", node.input(0).getDefiningOp<graph::MaybeOp>().getPresent()));
}

LogicalResult getElement(Node &node) { return node.finish(contentOf(node, node.input(0))); }

} // namespace

ArrayRef<Rule> sequenceRules() {
  static constexpr Rule rules[] = {
      {"Identity", 1, 1, identity},
      {"SequenceEmpty", 0, 0, empty},
      {"SequenceConstruct", 1, anyNumber, construct, /*takesStrings=*/true},
      {"SequenceLength", 1, 1, length},
      {"SequenceAt", 2, 2, at, /*takesStrings=*/true},
      {"SequenceInsert", 2, 3, insert},
      {"SequenceErase", 1, 2, erase},
      {"ConcatFromSequence", 1, 1, concat, /*takesStrings=*/true},
      {"SplitToSequence", 1, 2, split, /*takesStrings=*/true},
      {"Optional", 0, 1, optional, /*takesStrings=*/true},
      {"OptionalHasElement", 0, 1, hasElement, /*takesStrings=*/true},
      {"OptionalGetElement", 1, 1, getElement, /*takesStrings=*/true},
  };
  return rules;
}

} // namespace fathom::importer
