// Rules of operators whose results' sizes data may decide. What is known at compile time takes the plain way; otherwise
// the sizes are computed by ordinary ops and pinned to symbols.
#include "compiler/graph/Graph.h"
#include "compiler/graph/SizeMath.h"
#include "compiler/import/node/Normalize.h"
#include "compiler/import/rules/Parts.h"

using namespace mlir;

namespace fathom::importer {
namespace {

Value asI64(Node &node, Value value, StringRef suffix) {
  return castAs(node, value, node.builder().getI64Type(), suffix);
}

// Whether all elements are known without running the model.
bool isKnown(Node &node, Value value) {
  std::optional<graph::Elements> elements = graph::elementsOf(value);
  return elements && llvm::none_of(*elements, [&](AffineExpr e) { return graph::isComputed(e, node.symbols()); });
}

// Those sizes of a Reshape's target that are only known when the model runs, with 0 and, where `rest` is given, -1
// resolved. `rest` is what remains of the input's elements beside the known sizes: their number and the product.
Value resolvedSizes(Node &node, Value sizes, ArrayRef<AffineExpr> copied,
                    std::optional<std::pair<AffineExpr, AffineExpr>> rest) {
  Value zero = node.ints({0}, "zero"), one = node.ints({1}, "one"), minusOne = node.ints({-1}, "minus_one");
  if (!copied.empty())
    sizes = node.emit("Where",
                      {node.emit("Equal", {sizes, zero}, {}, "copied"), node.sizesValue(copied, false, "sizes"), sizes},
                      {}, "shape");
  if (!rest || !sizes)
    return sizes;
  Value isRest = node.emit("Equal", {sizes, minusOne}, {}, "is_rest");
  Value others = node.emit("ReduceProd", {node.emit("Where", {isRest, one, sizes}, {}, "others")}, {}, "product");
  others = node.emit("Mul", {others, node.sizesValue({rest->second}, false, "known")}, {}, "product");
  Value quotient =
      node.emit("Div", {node.sizesValue({rest->first}, false, "count"), node.emit("Max", {others, one}, {}, "divisor")},
                {}, "quotient");
  // Two of them cannot both be the rest.
  Value rests = asI64(node, isRest, "rests");
  rests = node.emit("Greater", {node.emit("ReduceSum", rests, {}, "rests"), one}, {}, "too_many");
  quotient = node.emit("Where", {rests, minusOne, quotient}, {}, "rest");
  return node.emit("Where", {isRest, quotient, sizes}, {}, "resolved");
}

// Whether it may be taken for granted that divisions among the other sizes leave nothing, which leaves out sizes for
// which the model would run. Where what they divide by stands beside them, as with the windows of an image, those have
// no meaning; a rest that is a constant is worth more than they are.
bool areMeantWhole(AffineExpr rest, ArrayRef<AffineExpr> others, MLIRContext *context) {
  if (graph::constantSize(rest))
    return true;
  AffineExpr divisors = getAffineConstantExpr(1, context), beside = divisors;
  for (AffineExpr size : others) {
    size.walk([&](AffineExpr part) {
      if (part.getKind() == AffineExprKind::FloorDiv)
        divisors = graph::size::mul(divisors, cast<AffineBinaryOpExpr>(part).getRHS());
    });
    if (size.getKind() != AffineExprKind::FloorDiv)
      beside = graph::size::mul(beside, size);
  }
  return bool(graph::size::exactDiv(beside, divisors));
}

// A target of known sizes. What remains of the input for a -1 may be beyond size arithmetic, as where the other sizes
// may be 0: it is computed then.
LogicalResult reshapeToKnown(Node &node, graph::Elements target) {
  auto rest = llvm::find_if(target, [](AffineExpr size) { return graph::isConstant(size, -1); });
  if (rest == target.end())
    return copyNode(node);
  bool allowZero = node.intAttr("allowzero", 0);
  auto finish = [&](Value shape, bool keepsZeros) {
    return node.finish(node.emit("Reshape", {node.input(0), shape}, node.attr("allowzero", int64_t(keepsZeros))));
  };
  graph::Sizes input = graph::sizesOf(node.input(0)), others;
  for (auto [i, size] : llvm::enumerate(target))
    if (&size != rest)
      others.push_back(graph::isConstant(size, 0) && !allowZero && i < input.size() ? input[i] : size);
  AffineExpr have = graph::product(input, node.context()), want = graph::product(others, node.context());
  bool areConstant = graph::constantSize(have) && graph::constantSize(want);
  AffineExpr whole = have && want ? graph::size::wholeDiv(input, others) : AffineExpr();
  if (!have || !want || areConstant || graph::size::exactDiv(have, want) ||
      (whole && areMeantWhole(whole, others, node.context())) || (!whole && graph::size::floorDiv(have, want)))
    return finish(node.input(1), allowZero);
  Value divisor = node.emit("Max", {node.sizesValue({want}, false, "product"), node.ints({1}, "one")}, {}, "divisor");
  Value quotient = node.emit("Div", {node.sizesValue({have}, false, "count"), divisor}, {}, "quotient");
  Value pinned = node.pinned(quotient, "rest");
  std::optional<graph::Elements> found = pinned ? graph::elementsOf(pinned) : std::nullopt;
  if (!found)
    return failure();
  others.insert(others.begin() + (rest - target.begin()), found->front());
  return finish(node.sizesValue(others, false, "shape"), /*keepsZeros=*/true);
}

LogicalResult reshapeRule(Node &node) {
  if (node.numInputs() < 2 || node.rank(1) != 1)
    return copyNode(node);
  // The result's rank is not known, which pinning reports.
  if (node.inputType(1).isDynamicDim(0))
    return node.pinned(node.input(1), "target"), failure();
  std::optional<graph::Elements> target = graph::partialElementsOf(node.input(1));
  if (!target)
    return copyNode(node);
  if (!llvm::is_contained(*target, AffineExpr()))
    return reshapeToKnown(node, *target);
  bool allowZero = node.intAttr("allowzero", 0), hasRest = false;
  graph::Sizes input = graph::sizesOf(node.input(0));
  AffineExpr count = graph::product(input, node.context()), product = getAffineConstantExpr(1, node.context());
  SmallVector<int64_t> open;
  SmallVector<AffineExpr> copied;
  for (auto [i, size] : llvm::enumerate(*target)) {
    // A size copied from where the input has none is refused as negative ones are; -1 would be the rest.
    AffineExpr own = i < input.size() ? input[i] : getAffineConstantExpr(-2, node.context());
    if (!size) {
      open.push_back(i);
      copied.push_back(own);
      continue;
    }
    if (graph::isConstant(size, 0) && !allowZero)
      size = own;
    else if (graph::isConstant(size, -1))
      hasRest = true;
    product = graph::size::mul(product, size);
  }
  if (!count || !product)
    return node.error(ErrorCode::UnsupportedShape) << "the sizes of Reshape are too complex";
  Value sizes = node.emit("Gather", {asI64(node, node.input(1), "target"), node.ints(open, "open")}, {}, "sizes");
  using Rest = std::optional<std::pair<AffineExpr, AffineExpr>>;
  sizes = resolvedSizes(node, sizes, allowZero ? ArrayRef<AffineExpr>() : copied,
                        hasRest ? std::nullopt : Rest({count, product}));
  Value pinned = node.pinned(sizes, "target", "a size is negative or too large, or several are -1");
  std::optional<graph::Elements> found = pinned ? graph::elementsOf(pinned) : std::nullopt;
  if (!found)
    return failure();
  for (auto [position, size] : llvm::zip_equal(open, *found))
    (*target)[position] = size;
  return node.finish(node.emit("Reshape", {node.input(0), node.sizesValue(*target, false, "shape")},
                               node.attr("allowzero", int64_t(1))));
}

// The op wants the result's sizes, where ONNX lets the shape have 1 for what the input has.
LogicalResult expandRule(Node &node) {
  std::optional<graph::Elements> shape = graph::partialElementsOf(node.input(1));
  bool isOpen = node.rank(1) == 1 && node.inputType(1).isDynamicDim(0);
  if (!isOpen && (!shape || graph::constantElementsOf(node.input(1))))
    return copyNode(node);
  Value pinned = node.pinned(node.input(1), "target");
  std::optional<graph::Elements> target = pinned ? graph::elementsOf(pinned) : std::nullopt;
  if (!target)
    return failure();
  graph::Sizes sizes = graph::sizesOf(node.input(0));
  AffineExpr one = getAffineConstantExpr(1, node.context());
  size_t rank = std::max(sizes.size(), target->size());
  sizes.insert(sizes.begin(), rank - sizes.size(), one);
  target->insert(target->begin(), rank - target->size(), one);
  SmallVector<AffineExpr> conditions;
  for (auto [size, wanted] : llvm::zip_equal(sizes, *target)) {
    if (graph::isConstant(size, 1) || graph::constantSize(wanted) || graph::size::same(size, wanted))
      continue;
    AffineExpr result = node.areMeantEqual(size, wanted) ? size : node.commonSize(size, wanted);
    // It is the result's size or 1: the product of the distances is 0.
    AffineExpr distance =
        result ? graph::size::mul(graph::size::sub(wanted, one), graph::size::sub(wanted, result)) : AffineExpr();
    if (!distance)
      return node.error(ErrorCode::UnsupportedShape) << "the sizes of Expand are too complex";
    conditions.append({distance, graph::size::mul(distance, -1)});
    wanted = result;
  }
  if (!conditions.empty())
    node.requireSizes(conditions, "a size is neither 1 nor the one that it is broadcast to");
  return node.finish(node.emit("Expand", {node.input(0), node.sizesValue(*target, false, "sizes")}));
}

LogicalResult tileRule(Node &node) {
  Value repeats = withLength(node, node.input(1), node.rank(0), "repeats");
  return node.finishAs(node.type(), {node.input(0), node.pinned(repeats, "pinned")});
}
LogicalResult pinFirst(Node &node) { return node.finishAs(node.type(), {node.pinned(node.input(0), "pinned")}); }

// How many steps a range of floats or integers has. A step of zero and a length that no integer counts give -1, which
// is refused like every negative size.
Value floatSteps(Node &node, ArrayRef<Value> given) {
  Type f64 = node.builder().getF64Type();
  auto wide = [&](Value value, StringRef suffix) { return castAs(node, value, f64, suffix); };
  Value zero = node.scalar(0, f64, "zero"), step = wide(given[2], "step");
  Value span = wide(node.emit("Sub", {given[1], given[0]}, {}, "span"), "span");
  Value steps = node.emit("Ceil", node.emit("Div", {span, step}, {}, "quotient"), {}, "steps");
  steps = node.emit("Max", {steps, zero}, {}, "steps");
  // Not a number is not less either.
  Value isFinite = node.emit("Less", {steps, node.scalar(0x1p61, f64, "most")}, {}, "is_finite");
  Value moves = node.emit("Not", node.emit("Equal", {step, zero}, {}, "stands"), {}, "moves");
  steps = node.emit("Where", {node.emit("And", {isFinite, moves}, {}, "ends"), steps, node.scalar(-1, f64, "refused")},
                    {}, "steps");
  return asI64(node, steps, "steps");
}

Value integerSteps(Node &node, ArrayRef<Value> given) {
  Type i64 = node.builder().getI64Type(), f64 = node.builder().getF64Type();
  Value start = asI64(node, given[0], "start"), limit = asI64(node, given[1], "limit"),
        step = asI64(node, given[2], "step"), zero = node.scalar(0, i64, "zero"), one = node.scalar(1, i64, "one");
  auto wide = [&](Value value, StringRef suffix) { return castAs(node, value, f64, suffix); };
  // The difference overflows only where it is far too long.
  Value rough = node.emit("Sub", {wide(limit, "limit"), wide(start, "start")}, {}, "rough");
  Value isShort =
      node.emit("Less", {node.emit("Abs", rough, {}, "length"), node.scalar(0x1p61, f64, "most")}, {}, "is_short");
  Value stands = node.emit("Equal", {step, zero}, {}, "stands");
  Value span = node.emit("Where", {isShort, node.emit("Sub", {limit, start}, {}, "span"), zero}, {}, "span");
  Value by = node.emit("Where", {stands, one, step}, {}, "by"), quotient = node.emit("Div", {span, by}, {}, "quotient");
  Value rest = node.emit("Sub", {span, node.emit("Mul", {quotient, by}, {}, "whole")}, {}, "rest");
  // A rest in the step's direction is one more step.
  Value sides = node.emit("Mul", {node.emit("Sign", rest, {}, "side"), node.emit("Sign", by, {}, "way")}, {}, "sides");
  Value more = node.emit("Max", {sides, zero}, {}, "more");
  Value steps = node.emit("Max", {node.emit("Add", {quotient, more}, {}, "steps"), zero}, {}, "steps");
  // Whatever lies behind the start is nothing, however far.
  Value away = node.emit("Mul", {node.emit("Sign", rough, {}, "side"), wide(node.emit("Sign", by, {}, "way"), "way")},
                         {}, "away");
  Value isNothing = node.emit("Less", {away, node.scalar(0.0, f64, "zero")}, {}, "is_nothing");
  Value isKnown = node.emit("Or", {isShort, isNothing}, {}, "is_known");
  Value ends = node.emit("And", {isKnown, node.emit("Not", stands, {}, "moves")}, {}, "ends");
  return node.emit("Where", {ends, steps, node.scalar(-1, i64, "refused")}, {}, "steps");
}

LogicalResult rangeRule(Node &node) {
  if (Value plain = node.tryEmit("Range", node.allInputs()))
    return node.finish(plain);
  Type element = node.elementType(0), i64 = node.builder().getI64Type();
  SmallVector<Value> given;
  constexpr StringLiteral names[] = {"start", "limit", "delta"};
  for (auto [i, name] : llvm::enumerate(names)) {
    if (!llvm::all_of(graph::sizesOf(node.input(i)), [](AffineExpr size) { return graph::isConstant(size, 1); }))
      return node.error(ErrorCode::BadShape) << name << " must be a scalar";
    given.push_back(reshape(node, node.input(i), {}, name));
  }
  Value steps = isa<FloatType>(element) ? floatSteps(node, given) : integerSteps(node, given);
  Value count = node.pinned(steps, "count", "the step is 0, or there are too many numbers");
  Value numbers = node.emit("Range", {node.scalar(0, i64, "first"), count, node.scalar(1, i64, "by")}, {}, "numbers");
  if (numbers && !element.isInteger(64))
    numbers = castAs(node, numbers, element, "numbers");
  Value scaled = node.emit("Mul", {numbers, given[2]}, {}, "scaled");
  return node.finish(node.emit("Add", {scaled, given[0]}));
}

Value nonZero(Node &node, Value input, StringRef suffix) {
  Type element = cast<RankedTensorType>(input.getType()).getElementType();
  if (cast<RankedTensorType>(input.getType()).getRank() == 0)
    input = reshape(node, input, {1}, "vector");
  Value mask = input;
  if (!element.isInteger(1))
    mask = node.emit("Not", node.emit("Equal", {input, node.scalar(0, element, "zero")}, {}, "is_zero"), {}, "mask");
  Value ones = asI64(node, mask, "ones");
  Value count = node.emit("ReduceSum", ones, node.attr("keepdims", int64_t(0)), "count");
  return node.emit("NonZero", {input, node.pinned(count, "count")}, {}, suffix);
}

LogicalResult nonZeroRule(Node &node) { return node.finish(nonZero(node, node.input(0), "")); }

LogicalResult compressRule(Node &node) {
  Value input = node.input(0);
  bool isFlat = !node.hasAttr("axis") && node.rank(0) != 1;
  int64_t axis = node.intAttr("axis", 0);
  if (isFlat)
    input = reshape(node, input, {-1}, "flat");
  Value indices = nonZero(node, node.input(1), "indices");
  indices = node.emit("Squeeze", {indices, node.ints({0}, "axes")}, {}, "chosen");
  return node.finish(node.emit("Gather", {input, indices}, node.attr("axis", axis)));
}

// The first `count` rows.
Value firstRows(Node &node, Value rows, Value count, StringRef suffix) {
  SmallVector<NamedAttribute> attrs{node.attr("axes", node.builder().getDenseI64ArrayAttr({0})),
                                    node.attr("steps", node.builder().getDenseI64ArrayAttr({1}))};
  return node.emit("DynamicSlice", {rows, node.ints({0}, "from"), count}, attrs, suffix);
}

// The rows in use of every class, one class behind the other. They come first in [batch, class, rows, 3].
Value usedRows(Node &node, Value rows, Value counts) {
  graph::Sizes sizes = graph::sizesOf(rows);
  rows = reshape(node, rows, {-1, 3}, "rows");
  if (graph::isConstant(sizes[0], 1) && graph::isConstant(sizes[1], 1))
    return firstRows(node, rows, node.pinned(reshape(node, counts, {1}, "count"), "count"), "");
  Value isUsed =
      node.emit("Less", {countUp(node, sizes[2], "number"), reshape(node, counts, {0, 0, 1}, "counts")}, {}, "is_used");
  if (!rows || !isUsed)
    return {};
  Value used = nonZero(node, reshape(node, isUsed, {-1}, "is_used"), "used");
  return node.emit("Gather", {rows, node.emit("Squeeze", {used, node.ints({0}, "axes")}, {}, "used")},
                   node.attr("axis", int64_t(0)));
}

LogicalResult nonMaxSuppressionRule(Node &node) {
  SmallVector<Value> operands = node.allInputs();
  operands.resize(5, node.none());
  if (isa<NoneType>(operands[2].getType()))
    operands[2] = node.scalar(0, node.builder().getI64Type(), "max_output");
  for (Value &limit : MutableArrayRef(operands).drop_front(2))
    if (!isa<NoneType>(limit.getType()))
      limit = withLength(node, limit, 1, "limit");
  if (node.rank(1) != 3)
    return node.error(ErrorCode::BadShape) << "scores must have rank 3, but have " << node.rank(1);
  Value boxes = node.sizesValue({graph::sizesOf(node.input(1))[2]}, false, "boxes");
  Operation *sorted = node.create("TopK", {node.input(1), boxes}, {}, 2, "sorted");
  if (!sorted)
    return failure();
  operands.insert(operands.begin() + 2, sorted->getResult(1));
  FailureOr<SmallVector<NamedAttribute>> attrs = node.takeAttrs("NonMaxSuppression");
  Operation *op = failed(attrs) ? nullptr : node.create("NonMaxSuppression", operands, *attrs, 2, "all");
  return op ? node.finish(usedRows(node, op->getResult(0), op->getResult(1))) : failure();
}

LogicalResult uniqueRule(Node &node) {
  Value input = node.input(0), rows;
  int64_t rank = node.rank(0), sorted = node.intAttr("sorted", 1), axis = 0;
  if (sorted && graph::isString(node.elementType(0)))
    return hint(node.error(ErrorCode::UnsupportedType) << "Unique of strings in alphabetical order is not supported",
                "with sorted = 0 they come in the order of the input");
  if (node.hasAttr("axis")) {
    std::optional<int64_t> given = graph::normalizeAxis(node.intAttr("axis", 0), rank);
    if (!given)
      return node.error(ErrorCode::BadAttribute) << "axis is out of range for a tensor of rank " << rank;
    axis = *given;
    SmallVector<int64_t> perm{axis};
    for (int64_t d = 0; d < rank; ++d)
      if (d != axis)
        perm.push_back(d);
    rows = node.emit("Transpose", input, node.attr("perm", node.builder().getDenseI64ArrayAttr(perm)), "front");
    rows = rank == 1 || !rows ? rows : reshape(node, rows, {0, -1}, "rows");
  } else {
    input = rows = rank == 1 ? input : reshape(node, input, {-1}, "flat");
  }
  Operation *op = rows ? node.create("Unique", rows, node.attr("sorted", sorted), 4, "all") : nullptr;
  if (!op)
    return failure();
  // The kernel sorts in the memory of its first result, and marks what is not used of it. Counting the rest of it keeps
  // that memory even where only another output is wanted.
  Value isGroup = node.emit("GreaterOrEqual", {op->getResult(0), node.ints({0}, "zero")}, {}, "is_group");
  Value ones = asI64(node, isGroup, "ones");
  Value count = node.pinned(node.emit("ReduceSum", ones, {}, "count"), "count");
  Value first = firstRows(node, op->getResult(0), count, "first");
  Value values = node.emit("Gather", {input, first}, node.attr("axis", axis));
  return node.finish({values, first, op->getResult(1), firstRows(node, op->getResult(2), count, "counts")});
}

// One axis of a slice: where it starts and how many elements it has, as ONNX clamps them. `size` is that of the axis.
std::pair<Value, Value> clampedRange(Node &node, Value start, Value end, AffineExpr size, int64_t step) {
  bool isForward = step > 0;
  AffineExpr last = graph::size::add(size, -1);
  Value zero = node.ints({0}, "zero"), length = node.sizesValue({size}, false, "size");
  Value high = isForward ? length : node.sizesValue({last}, false, "last");
  auto clamp = [&](Value at, Value low, StringRef name) {
    Value wrapped = node.emit(
        "Where", {node.emit("Less", {at, zero}, {}, name), node.emit("Add", {at, length}, {}, name), at}, {}, name);
    return node.emit("Min", {node.emit("Max", {wrapped, low}, {}, name), high}, {}, name);
  };
  start = clamp(start, zero, "start");
  end = clamp(end, isForward ? zero : node.ints({-1}, "before"), "end");
  Value span = isForward ? node.emit("Sub", {end, start}, {}, "span") : node.emit("Sub", {start, end}, {}, "span");
  int64_t stride = isForward ? step : -step;
  span = node.emit("Max", {span, zero}, {}, "span");
  if (stride > 1)
    span = node.emit(
        "Div", {node.emit("Add", {span, node.ints({stride - 1}, "round")}, {}, "span"), node.ints({stride}, "stride")},
        {}, "span");
  return {start, span};
}

} // namespace

Value withLength(Node &node, Value vector, int64_t length, StringRef suffix) {
  auto type = vector ? dyn_cast<RankedTensorType>(vector.getType()) : RankedTensorType();
  if (!type || type.getRank() != 1 || type.hasStaticShape())
    return vector;
  return reshape(node, vector, {length}, suffix);
}

LogicalResult sliceDynamic(Node &node) {
  if (!node.hasInput(1) || !node.hasInput(2))
    return copyNode(node);
  bool areKnown = isKnown(node, node.input(1)) && isKnown(node, node.input(2));
  if (areKnown)
    if (Value plain = node.tryEmit("Slice", node.allInputs()))
      return node.finish(plain);
  auto elements = [&](unsigned index) { return graph::partialElementsOf(node.input(index)); };
  std::optional<graph::Elements> starts = elements(1), ends = elements(2);
  auto constants = [&](unsigned index, SmallVector<int64_t> otherwise) -> std::optional<SmallVector<int64_t>> {
    return node.hasInput(index) ? graph::constantElementsOf(node.input(index)) : std::optional(otherwise);
  };
  bool areListsKnown = starts && ends;
  for (unsigned index : {3, 4})
    areListsKnown &= !node.hasInput(index) || graph::constantElementsOf(node.input(index)).has_value();
  if (!areListsKnown)
    return sliceByRuntimeAxes(node);
  if (starts->size() != ends->size())
    return copyNode(node);
  size_t count = starts->size();
  auto axes = constants(3, llvm::to_vector(llvm::seq<int64_t>(0, count))),
       steps = constants(4, SmallVector<int64_t>(count, 1));
  // Whatever is wrong with it, or not known, the op itself says best.
  if (!axes || !steps || axes->size() != count || steps->size() != count || llvm::is_contained(*steps, 0))
    return copyNode(node);
  graph::Sizes sizes = graph::sizesOf(node.input(0));
  Value result = node.input(0), begin = asI64(node, node.input(1), "starts"), end = asI64(node, node.input(2), "ends");
  SmallVector<int64_t> dynamicAxes, dynamicSteps;
  SmallVector<Value> at, spans;
  for (size_t i = 0; i < count; ++i) {
    std::optional<int64_t> axis = graph::normalizeAxis((*axes)[i], sizes.size());
    if (!axis)
      return copyNode(node);
    auto usable = [&](AffineExpr e) { return e && !graph::isComputed(e, node.symbols()); };
    if (usable((*starts)[i]) && usable((*ends)[i]))
      if (Value part = node.tryEmit("Slice",
                                    {result, node.sizesValue({(*starts)[i]}, false, "from"),
                                     node.sizesValue({(*ends)[i]}, false, "to"), node.ints({*axis}, "axis"),
                                     node.ints({(*steps)[i]}, "step")},
                                    {}, "known")) {
        result = part;
        continue;
      }
    auto entry = [&](Value list, StringRef name) {
      Value all = cast<RankedTensorType>(list.getType()).getRank() ? list : reshape(node, list, {1}, name);
      return node.emit("Slice", {all, node.ints({int64_t(i)}, name), node.ints({int64_t(i + 1)}, name)}, {}, name);
    };
    auto [start, span] = clampedRange(node, entry(begin, "starts"), entry(end, "ends"), sizes[*axis], (*steps)[i]);
    at.push_back(start), spans.push_back(span);
    dynamicAxes.push_back(*axis), dynamicSteps.push_back((*steps)[i]);
  }
  if (at.empty())
    return node.finish(result);
  auto join = [&](ArrayRef<Value> parts, StringRef name) {
    return parts.size() == 1 ? parts[0] : node.emit("Concat", parts, node.attr("axis", int64_t(0)), name);
  };
  Value lengths = node.pinned(join(spans, "lengths"), "length");
  SmallVector<NamedAttribute> attrs{node.attr("axes", node.builder().getDenseI64ArrayAttr(dynamicAxes)),
                                    node.attr("steps", node.builder().getDenseI64ArrayAttr(dynamicSteps))};
  return node.finish(node.emit("DynamicSlice", {result, join(at, "from"), lengths}, attrs));
}

// Sums of pads and sizes must not overflow.
static LogicalResult requireModest(Node &node, Value pads) {
  constexpr int64_t most = int64_t(1) << 40;
  Type i64 = node.builder().getI64Type();
  Value wide = asI64(node, pads, "wide");
  Value isLow = node.emit("Less", {wide, node.scalar(most, i64, "most")}, {}, "is_low");
  Value isHigh = node.emit("Greater", {wide, node.scalar(-most, i64, "least")}, {}, "is_high");
  Value fits = node.emit("And", {isLow, isHigh}, {}, "fits");
  return fits ? node.requireAll(fits, "a pad is far too large") : failure();
}

// Pads that only the run knows may be negative, which a symbol may not. The padded sizes become symbols instead, which
// also keeps what follows from them simple, and a pad is what they leave over.
static Value pinnedPads(Node &node, Value pads) {
  std::optional<graph::Elements> elements = pads ? graph::partialElementsOf(pads) : std::nullopt;
  SmallVector<int64_t> all = llvm::to_vector(llvm::seq<int64_t>(0, node.rank(0)));
  auto axes = node.hasInput(3) ? graph::constantElementsOf(node.input(3)) : std::optional(all);
  if (!elements || !llvm::is_contained(*elements, AffineExpr()) || !axes || elements->size() != 2 * axes->size())
    return pads ? node.pinned(pads, "pads") : Value();
  if (failed(requireModest(node, pads)))
    return {};
  // The pads before and behind of every axis of which one is not known, and the size between them.
  SmallVector<int64_t> before, behind, bothOpen;
  graph::Sizes sizes;
  for (auto [i, given] : llvm::enumerate(*axes)) {
    AffineExpr begin = (*elements)[i], end = (*elements)[i + axes->size()];
    std::optional<int64_t> axis = graph::normalizeAxis(given, node.rank(0));
    if (!axis || (begin && end))
      continue;
    before.push_back(i), behind.push_back(i + axes->size());
    sizes.push_back(graph::sizesOf(node.input(0))[*axis]);
    if (!begin && !end)
      bothOpen.push_back(i);
  }
  auto entries = [&](ArrayRef<int64_t> places, StringRef name) {
    return node.emit("Gather", {pads, node.ints(places, name)}, {}, name);
  };
  auto known = [&](Value value, StringRef name) {
    Value pinned = node.pinned(value, name, "pads take away more than there is, or add too much");
    return pinned ? graph::elementsOf(pinned) : std::nullopt;
  };
  // Where neither is known, the first is what it adds less what it crops.
  if (!bothOpen.empty()) {
    Value first = entries(bothOpen, "begin"), zero = node.scalar(0, getElementTypeOrSelf(pads), "zero");
    auto added = known(node.emit("Max", {first, zero}, {}, "added"), "added");
    auto cropped = known(node.emit("Max", {node.emit("Neg", first, {}, "crop"), zero}, {}, "cropped"), "cropped");
    if (!added || !cropped)
      return {};
    for (auto [i, more, less] : llvm::zip_equal(bothOpen, *added, *cropped))
      (*elements)[i] = graph::size::sub(more, less);
  }
  Value sum = node.emit("Add", {entries(before, "begin"), entries(behind, "end")}, {}, "sum");
  auto padded = known(node.emit("Add", {sum, node.sizesValue(sizes, false, "sizes")}, {}, "padded"), "padded");
  if (!padded)
    return {};
  for (auto [first, last, size, total] : llvm::zip_equal(before, behind, sizes, *padded)) {
    AffineExpr &begin = (*elements)[first], &end = (*elements)[last], rest = graph::size::sub(total, size);
    (begin ? end : begin) = graph::size::sub(rest, begin ? begin : end);
  }
  if (llvm::is_contained(*elements, AffineExpr())) {
    node.error(ErrorCode::UnsupportedShape) << "the sizes of Pad are too complex";
    return {};
  }
  return node.sizesValue(*elements, /*isScalar=*/false, "pads");
}

// Pads of all axes, where data decides which ones they are given for: those of the others are 0.
static Value padsOfAllAxes(Node &node, int64_t count) {
  int64_t rank = node.rank(0);
  Type i64 = node.builder().getI64Type();
  SmallVector<int64_t> dims = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  // Looking axes up wraps negative ones and refuses those out of range.
  Value axes =
      node.emit("Gather", {node.ints(dims, "dimensions"), castAs(node, node.input(3), i64, "axes")}, {}, "axes");
  Value column = reshape(node, node.ints(dims, "dimensions"), {rank, 1}, "dimensions");
  Value isAxis = node.emit("Equal", {column, axes}, {}, "is_axis");
  Value pads = castAs(node, withLength(node, node.input(1), 2 * count, "pads"), i64, "pads");
  SmallVector<Value> ends;
  for (int64_t from : {int64_t(0), count}) {
    Value given = node.emit(
        "Where", {isAxis, part(node, pads, 0, from, from + count, "end"), node.scalar(0, i64, "zero")}, {}, "given");
    ends.push_back(
        node.emit("ReduceSum", {given, node.ints({1}, "axis")}, node.attr("keepdims", int64_t(0)), "of_all"));
  }
  return node.emit("Concat", ends, node.attr("axis", int64_t(0)), "pads");
}

LogicalResult padDynamic(Node &node) {
  if (!node.hasInput(1) || node.rank(1) != 1)
    return copyNode(node);
  if (node.hasInput(3) && node.rank(3) == 1 && isa<IntegerType>(node.elementType(3)) &&
      node.inputType(3).hasStaticShape() && node.rank(0) > 0 && !graph::elementsOf(node.input(3))) {
    Value pads = padsOfAllAxes(node, node.inputType(3).getDimSize(0));
    if (!pads)
      return failure();
    node.setInput(1, pads);
    node.setInput(3, Value());
  }
  SmallVector<Value> operands = node.allInputs();
  if (!node.hasInput(3))
    operands[1] = withLength(node, operands[1], 2 * node.rank(0), "pads");
  operands[1] = pinnedPads(node, operands[1]);
  return node.finishAs("Pad", operands);
}

ArrayRef<Rule> dynamicRules() {
  static constexpr Rule rules[] = {
      {"Reshape", 1, 2, reshapeRule},
      {"Expand", 2, 2, expandRule},
      {"Tile", 2, 2, tileRule},
      {"ConstantOfShape", 1, 1, pinFirst},
      {"Range", 3, 3, rangeRule},
      {"NonZero", 1, 1, nonZeroRule},
      {"Compress", 2, 2, compressRule, /*takesStrings=*/true},
      {"Unique", 1, 1, uniqueRule},
      {"NonMaxSuppression", 2, 5, nonMaxSuppressionRule},
  };
  return rules;
}

} // namespace fathom::importer
