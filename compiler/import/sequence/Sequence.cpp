// The operators on sequences: on lists while elements and positions are known, on packed tensors otherwise.
#include "compiler/import/sequence/Sequence.h"
#include "compiler/graph/Graph.h"
#include "compiler/graph/SizeMath.h"
#include "compiler/import/node/Normalize.h"
#include "compiler/import/rules/Parts.h"

using namespace mlir;

namespace fathom::importer {

bool isSequence(Value value) {
  return value && isa_and_nonnull<graph::ListedOp, graph::PackedOp>(value.getDefiningOp());
}
bool isOptional(Value value) { return value && isa_and_nonnull<graph::MaybeOp>(value.getDefiningOp()); }

static TupleType tupleOf(Node &node, ValueRange parts) { return TupleType::get(node.context(), parts.getTypes()); }

Value listed(Node &node, ValueRange elements, Type element) {
  return graph::ListedOp::create(node.builder(), node.loc(), tupleOf(node, elements), elements, element);
}
Value packed(Node &node, Value data, Value shapes, ArrayRef<int64_t> sizes) {
  if (!data || !shapes)
    return {};
  return graph::PackedOp::create(node.builder(), node.loc(), tupleOf(node, {data, shapes}), data, shapes,
                                 node.builder().getDenseI64ArrayAttr(sizes));
}
Value maybe(Node &node, Value present, Value value) {
  if (!present || !value)
    return {};
  return graph::MaybeOp::create(node.builder(), node.loc(), tupleOf(node, {present, value}), present, value);
}
Value maybe(Node &node, bool present, Value value) {
  return maybe(node, node.scalar(present, node.builder().getI1Type(), "present"), value);
}

static Value zeros(Node &node, Value sizes, Type element, StringRef suffix) {
  auto value = DenseElementsAttr::get(RankedTensorType::get({1}, element), Attribute(numberOf(0, element)));
  return node.emit("ConstantOfShape", sizes, node.attr("value", Attribute(value)), suffix);
}

Value filler(Node &node, Type element, int64_t rank) {
  return zeros(node, node.ints(SmallVector<int64_t>(rank, 0), "none"), element, "filler");
}

Value contentOf(Node &node, Value value) {
  auto maybe = isOptional(value) ? value.getDefiningOp<graph::MaybeOp>() : graph::MaybeOp();
  if (!maybe)
    return value;
  auto known = graph::constantElementsOf(maybe.getPresent());
  if (known && !known->front()) {
    node.error(ErrorCode::BadGraph) << "the optional value that " << node.type() << " needs is absent";
    return {};
  }
  if (!known && failed(node.require(maybe.getPresent(), true, "the optional value is absent")))
    return {};
  return maybe.getValue();
}

Value sequenceOf(Node &node, Value value) {
  Value content = contentOf(node, value);
  if (content && !isSequence(content)) {
    node.error(ErrorCode::BadType) << node.type() << " needs a sequence and is given a tensor";
    return {};
  }
  return content;
}

Type elementTypeOf(Value sequence) {
  if (auto list = sequence.getDefiningOp<graph::ListedOp>())
    return list.getElement();
  return getElementTypeOrSelf(sequence.getDefiningOp<graph::PackedOp>().getData().getType());
}

std::optional<int64_t> rankOf(Node &node, Value sequence) {
  if (auto list = sequence.getDefiningOp<graph::ListedOp>()) {
    if (list.getElements().empty())
      return std::nullopt;
    return cast<RankedTensorType>(list.getElements().front().getType()).getRank();
  }
  AffineExpr rank = graph::sizesOf(sequence.getDefiningOp<graph::PackedOp>().getShapes())[1];
  auto symbol = dyn_cast<AffineSymbolExpr>(rank);
  if (!symbol)
    return graph::constantSize(rank);
  graph::Symbol range = node.symbols()[symbol.getPosition()];
  return range.min == range.max ? std::optional(range.min) : std::nullopt;
}

AffineExpr lengthOf(Node &node, Value sequence) {
  if (auto list = sequence.getDefiningOp<graph::ListedOp>())
    return getAffineConstantExpr(list.getElements().size(), node.context());
  return graph::sizesOf(sequence.getDefiningOp<graph::PackedOp>().getShapes())[0];
}

SmallVector<int64_t> constantSizesOf(Value tensor) {
  return llvm::map_to_vector(graph::sizesOf(tensor),
                             [](AffineExpr size) { return graph::constantSize(size).value_or(differs); });
}

SmallVector<int64_t> commonSizes(ArrayRef<int64_t> a, ArrayRef<int64_t> b) {
  SmallVector<int64_t> sizes;
  for (auto [x, y] : llvm::zip(a, b))
    sizes.push_back(x == untold || x == y ? y : y == untold ? x : differs);
  return sizes;
}

SmallVector<int64_t> forRank(ArrayRef<int64_t> sizes, int64_t rank) {
  if (int64_t(sizes.size()) == rank)
    return SmallVector<int64_t>(sizes);
  return SmallVector<int64_t>(rank, sizes.size() == 1 ? sizes.front() : differs);
}

SmallVector<int64_t> commonSizes(Value sequence, int64_t rank) {
  if (auto op = sequence.getDefiningOp<graph::PackedOp>())
    return forRank(op.getSizes().value_or(ArrayRef<int64_t>()), rank);
  SmallVector<int64_t> sizes(rank, untold);
  for (Value element : sequence.getDefiningOp<graph::ListedOp>().getElements())
    sizes = commonSizes(sizes, forRank(constantSizesOf(element), rank));
  return sizes;
}

Value sizeScalar(Node &node, AffineExpr size, StringRef suffix) { return node.sizesValue({size}, true, suffix); }

void assertNotNegative(Node &node, ArrayRef<AffineExpr> conditions, StringRef why) {
  SmallVector<AffineExpr> open;
  AffineExpr zero = getAffineConstantExpr(0, node.context());
  for (AffineExpr condition : conditions)
    if (condition && !graph::size::isAtLeast(condition, zero, node.symbols()))
      open.push_back(condition);
  if (!open.empty())
    node.requireSizes(open, why);
}

// The sizes of an element as a row of `shapes`.
static Value rowOf(Node &node, Value tensor) {
  graph::Sizes sizes = graph::sizesOf(tensor);
  AffineExpr one = getAffineConstantExpr(1, node.context()), rank = getAffineConstantExpr(sizes.size(), node.context());
  return reshapeTo(node, node.sizesValue(sizes, false, "row"), {one, rank}, "row");
}

static Value flat(Node &node, Value tensor) {
  AffineExpr count = graph::product(graph::sizesOf(tensor), node.context());
  if (!count) {
    node.error(ErrorCode::UnsupportedShape) << "the sizes of an element are too complex";
    return {};
  }
  return reshapeTo(node, tensor, {count}, "flat");
}

static Value concat(Node &node, ArrayRef<Value> parts, StringRef suffix) {
  return parts.size() == 1 ? parts[0] : node.emit("Concat", parts, node.attr("axis", int64_t(0)), suffix);
}

static bool reportRank(Node &node, int64_t have, int64_t want) {
  if (have == want)
    return false;
  auto diagnostic = node.error(ErrorCode::UnsupportedShape)
                    << "a sequence with elements of rank " << have << " and of rank " << want << " is not supported";
  diagnostic.attachNote()
      << "hint: elements may differ in size, but in their number of dimensions only where all positions in "
         "the sequence are known when the model is compiled";
  return true;
}

static Packed packList(Node &node, graph::ListedOp list, int64_t rank) {
  SmallVector<Value> values;
  SmallVector<AffineExpr> sizes;
  for (Value element : list.getElements()) {
    graph::Sizes own = graph::sizesOf(element);
    if (reportRank(node, own.size(), rank))
      return {};
    values.push_back(flat(node, element));
    llvm::append_range(sizes, own);
  }
  AffineExpr length = getAffineConstantExpr(values.size(), node.context()),
             columns = getAffineConstantExpr(rank, node.context());
  Value data = values.empty() ? filler(node, list.getElement(), 1) : concat(node, values, "data");
  return {data, reshapeTo(node, node.sizesValue(sizes, false, "sizes"), {length, columns}, "shapes")};
}

Packed pack(Node &node, Value sequence, std::optional<int64_t> rank) {
  if (auto list = sequence.getDefiningOp<graph::ListedOp>()) {
    if (rank || !list.getElements().empty())
      return packList(node, list, rank ? *rank : *rankOf(node, sequence));
    // A rank that is found out later: nothing is ever made with this symbol.
    AffineExpr zero = getAffineConstantExpr(0, node.context());
    Value sizes = node.sizesValue({zero, node.newSymbol("rank")}, false, "open");
    return {filler(node, list.getElement(), 1), zeros(node, sizes, node.builder().getI64Type(), "open")};
  }
  auto op = sequence.getDefiningOp<graph::PackedOp>();
  graph::Sizes sizes = graph::sizesOf(op.getShapes());
  if (!rank || graph::isConstant(sizes[1], *rank))
    return {op.getData(), op.getShapes()};
  if (std::optional<int64_t> known = rankOf(node, sequence)) {
    if (reportRank(node, *known, *rank))
      return {};
  } else {
    node.limitSymbol(sizes[1], *rank, *rank);
  }
  return {op.getData(),
          reshapeTo(node, op.getShapes(), {sizes[0], getAffineConstantExpr(*rank, node.context())}, "shapes")};
}

// How many values each element has.
static Value countsOf(Node &node, const Packed &parts) {
  return node.emit("ReduceProd", {parts.shapes, node.ints({1}, "axis")}, node.attr("keepdims", int64_t(0)), "counts");
}
// Where each element's values start.
static Value startsOf(Node &node, Value counts) {
  return node.emit("CumSum", {counts, node.ints({0}, "axis")}, node.attr("exclusive", int64_t(1)), "starts");
}
static Value entry(Node &node, Value list, Value index, StringRef suffix) {
  return node.emit("Gather", {list, index}, {}, suffix);
}

constexpr StringLiteral outsideSequence = "the position is outside of the sequence";

static Value asScalar(Node &node, Value position) {
  position = withLength(node, position, 1, "position");
  if (!position)
    return {};
  auto type = cast<RankedTensorType>(position.getType());
  if (!isa<IntegerType>(type.getElementType()) || !type.hasStaticShape() || type.getNumElements() != 1) {
    node.error(ErrorCode::BadType) << "the position must be one integer, not " << node.text(type);
    return {};
  }
  if (!type.getElementType().isInteger(64))
    position = node.emit("Cast", position, node.attr("to", TypeAttr::get(node.builder().getI64Type())), "position");
  return type.getRank() ? reshape(node, position, {}, "position") : position;
}

// A position from the front, checked to be at least 0 and at most `last`; null, with a report, if it cannot be. Only a
// list is known to be as long as it is: a loop's first round sees the lengths of its first iteration.
static AffineExpr positionOf(Node &node, Value given, Value sequence, AffineExpr last) {
  Value position = asScalar(node, given);
  if (!position)
    return {};
  AffineExpr length = lengthOf(node, sequence), at;
  if (auto known = graph::constantElementsOf(position)) {
    int64_t number = known->front(), count = graph::constantSize(length).value_or(0);
    at = getAffineConstantExpr(number, node.context());
    at = number < 0 ? graph::size::add(length, at) : at;
    bool isOutside = number < -count || number > graph::constantSize(last).value_or(0);
    if (!at || (isOutside && sequence.getDefiningOp<graph::ListedOp>())) {
      auto diagnostic = node.error(ErrorCode::BadShape) << "position " << number << " is outside a sequence";
      if (graph::constantSize(length))
        diagnostic << " of " << count << (count == 1 ? " element" : " elements");
      return {};
    }
  } else {
    Value zero = node.scalar(0, node.builder().getI64Type(), "zero");
    Value wrapped =
        node.emit("Where",
                  {node.emit("Less", {position, zero}, {}, "from_end"),
                   node.emit("Add", {position, sizeScalar(node, length, "length")}, {}, "wrapped"), position},
                  {}, "position");
    // Its symbol is not negative, which is checked where it gets its value.
    Value pinned = node.pinned(wrapped, "position", outsideSequence);
    std::optional<graph::Elements> elements = pinned ? graph::elementsOf(pinned) : std::nullopt;
    if (!elements)
      return {};
    at = elements->front();
  }
  assertNotNegative(node, {at, graph::size::sub(last, at)}, outsideSequence);
  return at;
}

bool isEmptyList(Node &node, Value sequence) {
  auto list = sequence.getDefiningOp<graph::ListedOp>();
  if (!list || !list.getElements().empty())
    return false;
  node.error(ErrorCode::BadShape) << node.type() << " needs a sequence that is not empty";
  return true;
}

// The number that a position has at compile time, in a list.
static std::optional<int64_t> listPosition(AffineExpr at, Value sequence) {
  return sequence.getDefiningOp<graph::ListedOp>() ? graph::constantSize(at) : std::nullopt;
}

std::optional<graph::Sizes> sizesFrom(Node &node, Value vector, ArrayRef<int64_t> known) {
  graph::Sizes sizes;
  SmallVector<int64_t> open;
  for (auto [i, size] : llvm::enumerate(known)) {
    sizes.push_back(getAffineConstantExpr(size, node.context()));
    if (size < 0)
      open.push_back(i);
  }
  if (open.empty())
    return sizes;
  Value pinned =
      vector ? node.pinned(node.emit("Gather", {vector, node.ints(open, "open")}, {}, "open"), "size") : Value();
  std::optional<graph::Elements> elements = pinned ? graph::elementsOf(pinned) : std::nullopt;
  if (!elements)
    return std::nullopt;
  for (auto [i, size] : llvm::zip_equal(open, *elements))
    sizes[i] = size;
  return sizes;
}

Value sequenceAt(Node &node, Value sequence, Value position) {
  if (isEmptyList(node, sequence))
    return {};
  AffineExpr at = positionOf(node, position, sequence, graph::size::add(lengthOf(node, sequence), -1));
  if (!at)
    return {};
  if (auto number = listPosition(at, sequence))
    return sequence.getDefiningOp<graph::ListedOp>().getElements()[*number];
  std::optional<int64_t> rank = rankOf(node, sequence);
  if (!rank && sequence.getDefiningOp<graph::PackedOp>().getScalars())
    rank = 0;
  if (!rank) {
    auto diagnostic = node.error(ErrorCode::UnsupportedShape)
                      << "how many dimensions the sequence's elements have is not known here";
    diagnostic.attachNote() << "hint: declare the shape of the sequence's elements, with names for its dimensions";
    return {};
  }
  Packed parts = pack(node, sequence, *rank);
  if (!parts)
    return {};
  Value index = sizeScalar(node, at, "at"), counts = countsOf(node, parts);
  std::optional<graph::Sizes> found =
      sizesFrom(node, entry(node, parts.shapes, index, "row"), commonSizes(sequence, *rank));
  if (!found)
    return {};
  graph::Sizes sizes = *found;
  AffineExpr count = graph::product(sizes, node.context());
  if (!count || !counts) {
    node.error(ErrorCode::UnsupportedShape) << "the sizes of the sequence's elements are too complex";
    return {};
  }
  Value start = entry(node, startsOf(node, counts), node.sizesValue({at}, false, "at"), "start");
  SmallVector<NamedAttribute> attrs{node.attr("axes", node.builder().getDenseI64ArrayAttr({0})),
                                    node.attr("steps", node.builder().getDenseI64ArrayAttr({1}))};
  Value values =
      node.emit("DynamicSlice", {parts.data, start, node.sizesValue({count}, false, "count")}, attrs, "values");
  return reshapeTo(node, values, sizes, "");
}

// `all` is a list of `total` entries and `count` new ones behind it; those move to `start`.
static Value movedTo(Node &node, Value all, Value start, AffineExpr count, AffineExpr total, StringRef suffix) {
  Value i = countUp(node, graph::size::add(total, count), "index"), many = sizeScalar(node, count, "count");
  Value isBefore = node.emit("Less", {i, start}, {}, "is_before");
  Value isNew = node.emit("Less", {i, node.emit("Add", {start, many}, {}, "end")}, {}, "is_new");
  Value fromNew =
      node.emit("Add", {node.emit("Sub", {i, start}, {}, "inside"), sizeScalar(node, total, "total")}, {}, "from_new");
  Value source = node.emit("Where", {isNew, fromNew, node.emit("Sub", {i, many}, {}, "after")}, {}, "source");
  return entry(node, all, node.emit("Where", {isBefore, i, source}, {}, "source"), suffix);
}

Value sequenceInsert(Node &node, Value sequence, Value tensor, Value position) {
  auto type = cast<RankedTensorType>(tensor.getType());
  if (type.getElementType() != elementTypeOf(sequence)) {
    node.error(ErrorCode::BadType) << "a tensor of " << graph::elementText(type.getElementType())
                                   << " cannot be put into a sequence of "
                                   << graph::elementText(elementTypeOf(sequence));
    return {};
  }
  AffineExpr length = lengthOf(node, sequence);
  AffineExpr at = position ? positionOf(node, position, sequence, length) : length;
  if (!at)
    return {};
  if (auto number = listPosition(at, sequence)) {
    SmallVector<Value> elements(sequence.getDefiningOp<graph::ListedOp>().getElements());
    elements.insert(elements.begin() + *number, tensor);
    return listed(node, elements, type.getElementType());
  }
  Packed parts = pack(node, sequence, type.getRank());
  if (!parts)
    return {};
  SmallVector<int64_t> sizes = commonSizes(commonSizes(sequence, type.getRank()), constantSizesOf(tensor));
  Value values = flat(node, tensor);
  if (!values)
    return {};
  Value data = concat(node, {parts.data, values}, "data"),
        shapes = concat(node, {parts.shapes, rowOf(node, tensor)}, "shapes");
  if (graph::size::same(at, length))
    return packed(node, data, shapes, sizes);
  // Behind the last element is where a new one may go too.
  AffineExpr total = graph::sizesOf(parts.data)[0], one = getAffineConstantExpr(1, node.context());
  Value counts = countsOf(node, parts), index = sizeScalar(node, at, "at");
  if (!counts)
    return {};
  Value ends = concat(node, {startsOf(node, counts), node.sizesValue({total}, false, "total")}, "starts");
  data = movedTo(node, data, entry(node, ends, index, "start"), graph::sizesOf(values)[0], total, "data");
  return packed(node, data, movedTo(node, shapes, index, one, length, "shapes"), sizes);
}

Value sequenceJoined(Node &node, Value first, Value second) {
  if (auto list = first.getDefiningOp<graph::ListedOp>(); list && list.getElements().empty())
    return second;
  std::optional<int64_t> rank = rankOf(node, second);
  Packed a = pack(node, first, rank), b = a ? pack(node, second, rank) : Packed{};
  if (!b)
    return {};
  Value data = concat(node, {a.data, b.data}, "data"), shapes = concat(node, {a.shapes, b.shapes}, "shapes");
  int64_t dimensions = rank.value_or(1);
  return packed(node, data, shapes, commonSizes(commonSizes(first, dimensions), commonSizes(second, dimensions)));
}

// The first `left` entries of a list after `count` of them from `start` on were taken out.
static Value without(Node &node, Value list, Value start, Value count, AffineExpr left, StringRef suffix) {
  Value i = countUp(node, left, "index");
  Value isBefore = node.emit("Less", {i, start}, {}, "is_before");
  return entry(node, list, node.emit("Where", {isBefore, i, node.emit("Add", {i, count}, {}, "after")}, {}, "source"),
               suffix);
}

Value sequenceErase(Node &node, Value sequence, Value position) {
  if (isEmptyList(node, sequence))
    return {};
  AffineExpr last = graph::size::add(lengthOf(node, sequence), -1);
  Type i64 = node.builder().getI64Type();
  Value given = position ? position : node.scalar(-1, i64, "last");
  AffineExpr at = positionOf(node, given, sequence, last);
  if (!at)
    return {};
  if (auto number = listPosition(at, sequence)) {
    SmallVector<Value> elements(sequence.getDefiningOp<graph::ListedOp>().getElements());
    elements.erase(elements.begin() + *number);
    return listed(node, elements, elementTypeOf(sequence));
  }
  std::optional<int64_t> rank = rankOf(node, sequence);
  Packed parts = pack(node, sequence, rank);
  Value counts = parts ? countsOf(node, parts) : Value();
  if (!counts)
    return {};
  Value index = sizeScalar(node, at, "at"), count = entry(node, counts, index, "count");
  // Read from data, as both are sizes only where there is something to erase.
  Value left = node.emit("Sub", {sizeScalar(node, graph::sizesOf(parts.data)[0], "total"), count}, {}, "left");
  Value rows = node.emit("Max", {sizeScalar(node, last, "last"), node.scalar(0, i64, "zero")}, {}, "rows");
  left = node.pinned(left, "left"), rows = node.pinned(rows, "rows");
  if (!left || !rows)
    return {};
  Value data = without(node, parts.data, entry(node, startsOf(node, counts), index, "start"), count,
                       graph::elementsOf(left)->front(), "data");
  Value shapes =
      without(node, parts.shapes, index, node.scalar(1, i64, "one"), graph::elementsOf(rows)->front(), "shapes");
  return packed(node, data, shapes, commonSizes(sequence, rank.value_or(0)));
}

} // namespace fathom::importer
