// What nodes make of decisions at run time: sizes read from data, checks of what was assumed about sizes, branches and
// loops.
#include "compiler/graph/Graph.h"
#include "compiler/graph/SizeMath.h"
#include "compiler/import/node/Node.h"
#include "llvm/ADT/MapVector.h"
#include <map>

using namespace mlir;

namespace fathom::importer {

static AffineExpr zero(MLIRContext *context) { return getAffineConstantExpr(0, context); }

// What a run says that is refused because of these sizes; nothing where that would be too long to help.
static std::string neededSizes(AffineExpr a, AffineExpr b, StringRef relation, const graph::SymbolList &symbols) {
  constexpr size_t longest = 160;
  // The names of computed sizes are not the model's.
  auto textOf = [&](AffineExpr size, StringRef article) {
    return graph::isComputed(size, symbols) ? "a size that data decides"
                                            : (article + graph::sizeText(size, symbols)).str();
  };
  std::string text = textOf(a, "the size ") + " must be " + relation.str() + " " + textOf(b, "");
  return text.size() <= longest ? text : "";
}

LogicalResult Node::requireSame(AffineExpr a, AffineExpr b, StringRef what) {
  if (graph::constantSize(a) && graph::constantSize(b) && a != b)
    return error(ErrorCode::BadShape) << what << " must have equal sizes, but have " << *graph::constantSize(a)
                                      << " and " << *graph::constantSize(b);
  graph::CollectAssumptions assumptions;
  graph::assumeEqual(a, b);
  return checkAssumptions(assumptions);
}

LogicalResult Node::checkAssumptions(const graph::CollectAssumptions &assumptions) {
  if (assumptions.equal.empty() && assumptions.atLeast.empty())
    return success();
  graph::SymbolList symbols = graph::getSymbols(module());
  // What is inside a branch need not hold where the branch is not taken.
  bool isOutermost = session.builder.getInsertionBlock() == &session.main.getBody().front();
  // By what a run says where they do not hold.
  llvm::MapVector<std::string, SmallVector<AffineExpr>, std::map<std::string, unsigned>> conditions;
  auto require = [&](AffineExpr a, AffineExpr b, const std::string &need) {
    if (graph::size::isAtLeast(a, b, symbols))
      return;
    // What is beyond the canonical form can still be computed.
    AffineExpr condition = graph::size::sub(a, b);
    if (!condition)
      condition = a - b;
    if (session.checked.contains(condition) || (isOutermost && !session.checked.insert(condition).second))
      return;
    conditions[need].push_back(condition);
  };
  bool isNarrowed = false;
  for (auto [a, b, why] : assumptions.equal) {
    // An input's dimension that can only have one size is refused where the inputs are checked, with the best message.
    if (graph::constantSize(a))
      std::swap(a, b);
    auto symbol = dyn_cast<AffineSymbolExpr>(a);
    std::optional<int64_t> size = graph::constantSize(b);
    if (isOutermost && size && symbol && !symbols[symbol.getPosition()].isComputed) {
      graph::Symbol range = symbols[symbol.getPosition()];
      if (*size < range.min || *size > range.max)
        return error(ErrorCode::BadShape) << "dimension '" << range.name << "' would have to be " << *size
                                          << ", outside its range of " << range.min << " to " << range.max;
      range.min = range.max = *size;
      symbols.set(symbol.getPosition(), range);
      isNarrowed = true;
      continue;
    }
    auto other = dyn_cast<AffineSymbolExpr>(b);
    if (isOutermost && symbol && other && !symbols[symbol.getPosition()].isComputed &&
        !symbols[other.getPosition()].isComputed) {
      session.same.push_back({symbol.getPosition(), other.getPosition(), location});
      continue;
    }
    std::string need = why.empty() ? neededSizes(a, b, "the same as", symbols) : why;
    require(a, b, need);
    require(b, a, need);
  }
  for (auto [a, b, why] : assumptions.atLeast)
    require(a, b, why.empty() ? neededSizes(a, b, "at least", symbols) : why);
  if (isNarrowed)
    graph::setSymbols(module(), symbols);
  for (auto &[need, notNegative] : conditions)
    requireSizes(notNegative, need);
  return success();
}

void Node::requireSizes(ArrayRef<AffineExpr> notNegative, StringRef why) {
  auto op = graph::AssertOp::create(session.builder, location, graph::shapeMapOf(notNegative, context()));
  if (!why.empty())
    op->setAttr(graph::whyAttrName, builder().getStringAttr(why));
}

void Node::pin(Value integers, ArrayRef<int64_t> positions, ArrayRef<int64_t> symbols, StringRef why) {
  auto op = graph::PinOp::create(session.builder, location, integers, positions, symbols);
  if (!why.empty())
    op->setAttr(graph::whyAttrName, builder().getStringAttr(why));
}

Value Node::sizesValue(ArrayRef<AffineExpr> elements, bool isScalar, StringRef suffix) {
  SmallVector<int64_t> shape;
  if (!isScalar)
    shape.push_back(elements.size());
  auto type = RankedTensorType::get(shape, builder().getI64Type());
  auto op = graph::SizesOp::create(session.builder, location, type,
                                   AffineMapAttr::get(graph::shapeMapOf(elements, context())));
  op->setAttr("graph.name", builder().getStringAttr(nameFor(suffix)));
  return op;
}

Value Node::pinned(Value integers, StringRef suffix, StringRef why) {
  if (!integers)
    return {};
  auto type = cast<RankedTensorType>(integers.getType());
  std::optional<graph::Elements> elements = graph::partialElementsOf(integers);
  if (elements && !llvm::is_contained(*elements, AffineExpr()))
    return elements->empty() ? sizesValue({}, /*isScalar=*/false, suffix) : integers;
  if (type.getRank() == 1 && type.isDynamicDim(0)) {
    auto diagnostic = error(ErrorCode::UnsupportedShape)
                      << text(type) << " decides about sizes, but how many it has is only known when the model runs";
    // Of an input, which the user can give a size.
    llvm::SmallBitVector used;
    graph::collectSymbols(graph::sizesOf(type)[0], used);
    graph::SymbolList all = this->symbols();
    bool isGiven = llvm::none_of(used.set_bits(), [&](unsigned i) { return all[i].isComputed; });
    hint(std::move(diagnostic), isGiven ? "give its length, such as --dim " + all[used.find_first()].name + "=2"
                                        : "give the tensor a fixed length, from which the result's rank follows");
    return {};
  }
  if (!elements || type.getRank() > 1 || !isa<IntegerType>(type.getElementType()) ||
      type.getElementType().isInteger(1)) {
    error(ErrorCode::UnsupportedShape) << text(type) << " cannot decide about sizes";
    return {};
  }
  SmallVector<int64_t> positions, symbols;
  for (auto [i, element] : llvm::enumerate(*elements)) {
    if (element)
      continue;
    std::string name = nameFor((suffix + "." + Twine(i)).str());
    element = graph::addComputedSymbol(module(), name);
    positions.push_back(i);
    symbols.push_back(cast<AffineSymbolExpr>(element).getPosition());
  }
  pin(integers, positions, symbols, why.empty() ? "a size that data decides is negative or too large" : why);
  return sizesValue(*elements, type.getRank() == 0, suffix);
}

// A type as it is outside of a branch or loop: sizes that are not known (null) or depend on symbols of the inside
// (those beyond the first `known`) become symbols of their own, which are appended.
RankedTensorType Node::outsideType(graph::Sizes sizes, Type element, unsigned known,
                                   SmallVectorImpl<int64_t> &symbols) {
  for (AffineExpr &size : sizes) {
    llvm::SmallBitVector used;
    if (size)
      graph::collectSymbols(size, used);
    if (size && used.find_last() < int(known))
      continue;
    size = graph::addComputedSymbol(module(), nameFor("size"));
    symbols.push_back(cast<AffineSymbolExpr>(size).getPosition());
  }
  return graph::tensorOf(sizes, element);
}

// The type of both, with null sizes where they differ; null if element types or ranks do.
static std::optional<graph::Sizes> join(Type a, Type b) {
  auto x = cast<RankedTensorType>(a), y = cast<RankedTensorType>(b);
  if (x.getElementType() != y.getElementType() || x.getRank() != y.getRank())
    return std::nullopt;
  graph::Sizes sizes = graph::sizesOf(x), others = graph::sizesOf(y);
  for (auto [size, other] : llvm::zip_equal(sizes, others))
    if (!graph::size::same(size, other))
      size = AffineExpr();
  return sizes;
}

void Node::limitSymbol(AffineExpr symbol, int64_t min, int64_t max) {
  graph::SymbolList symbols = graph::getSymbols(module());
  unsigned position = cast<AffineSymbolExpr>(symbol).getPosition();
  graph::Symbol range = symbols[position];
  if (range.min == min && range.max == max)
    return;
  range.min = min, range.max = max;
  symbols.set(position, range);
  graph::setSymbols(module(), symbols);
}

LogicalResult Node::require(Value flag, bool value, StringRef why) {
  Value number = emit("Cast", flag, attr("to", TypeAttr::get(builder().getI64Type())), "condition");
  if (!number)
    return failure();
  AffineExpr symbol = newSymbol("taken");
  limitSymbol(symbol, value, value);
  pin(number, {0}, {cast<AffineSymbolExpr>(symbol).getPosition()}, why);
  return success();
}

LogicalResult Node::requireAll(Value flags, StringRef why) {
  // The wrong ones are counted, which also holds where there are none at all.
  Value wrong =
      emit("Cast", emit("Not", {flags}, {}, "wrong"), attr("to", TypeAttr::get(builder().getI64Type())), "wrong");
  Value count = emit("ReduceSum", {wrong, none()}, attr("keepdims", int64_t(0)), "wrong");
  if (!count)
    return failure();
  AffineExpr symbol = newSymbol("wrong");
  limitSymbol(symbol, 0, 0);
  pin(count, {0}, {cast<AffineSymbolExpr>(symbol).getPosition()}, why);
  return success();
}

LogicalResult Node::requireBelow(Value integers, AffineExpr limit, StringRef why, int64_t least) {
  // Every layer of a decoder has the same lengths. What is inside a branch need not hold outside of it.
  bool isOutermost = session.builder.getInsertionBlock() == &session.main.getBody().front();
  if (session.checkedBelow.contains({integers, limit, least}))
    return success();
  if (isOutermost)
    session.checkedBelow.insert({integers, limit, least});
  auto i64 = attr("to", TypeAttr::get(builder().getI64Type()));
  Value wide = getElementTypeOrSelf(integers).isInteger(64) ? integers : emit("Cast", integers, i64, "wide");
  Value isLow = emit("Less", {wide, sizesValue({limit}, /*isScalar=*/true, "limit")}, {}, "is_low");
  Value isHigh = emit("GreaterOrEqual", {wide, scalar(least, builder().getI64Type(), "least")}, {}, "is_high");
  Value flags = emit("And", {isLow, isHigh}, {}, "fits");
  return flags ? requireAll(flags, why) : failure();
}

// Whether something else than sizes of inputs decides a value.
static bool dependsOnData(Value value) {
  llvm::SmallDenseSet<Value> seen;
  SmallVector<Value> open{value};
  while (!open.empty()) {
    Value next = open.pop_back_val();
    Operation *op = next.getDefiningOp();
    if (!op)
      return true;
    if (isa<graph::ShapeOp, graph::SizeOp, graph::SizesOp>(op) || !seen.insert(next).second)
      continue;
    llvm::append_range(open, op->getOperands());
  }
  return false;
}

// One of two branches that differ in rank. Frameworks squeeze a dimension "if it is 1", and most mean that it is: the
// branch with fewer dimensions is taken, and whether the model could go on with the other is found out by importing it
// once more (RankChoice.cpp).
FailureOr<SmallVector<Value>> Node::takeOneRank(Value condition, BranchBody body, RankedTensorType thenType,
                                                RankedTensorType elseType) {
  bool isThenSmaller = thenType.getRank() < elseType.getRank();
  auto [smaller, larger] = isThenSmaller ? std::pair(thenType, elseType) : std::pair(elseType, thenType);
  std::string types = text(thenType) + " in one branch and " + text(elseType) + " in the other";
  StringRef name = nodeName(location);
  if (session.isGuess)
    return error(ErrorCode::UnsupportedShape) << "an output is " << types << "; only sizes may differ";
  if (llvm::none_of(session.unequal, [&](const UnequalRanks &met) { return met.key == name; })) {
    std::string dim;
    graph::SymbolList symbols = this->symbols();
    for (AffineExpr size : graph::sizesOf(larger))
      if (auto symbol = dyn_cast<AffineSymbolExpr>(size))
        if (!symbols[symbol.getPosition()].isComputed && !llvm::is_contained(graph::sizesOf(smaller), size))
          dim = symbols[symbol.getPosition()].name;
    session.unequal.push_back({location, name.str(), types, dim, session.openBranches, dependsOnData(condition)});
  }
  bool isThen = isThenSmaller != session.takesSecond.contains(name);
  if (failed(require(condition, isThen, "the model was compiled for the other branch of this If")))
    return failure();
  return body(isThen);
}

// Refuses a size of 1 when the model runs.
LogicalResult Node::requireNotOne(AffineExpr size) {
  graph::SymbolList symbols = this->symbols();
  auto symbol = dyn_cast<AffineSymbolExpr>(size);
  bool isOutermost = session.builder.getInsertionBlock() == &session.main.getBody().front();
  bool isPositive = graph::size::lowerBound(size, symbols).value_or(0) > 0;
  if (isOutermost && isPositive && symbol && !symbols[symbol.getPosition()].isComputed) {
    // Inputs are checked by name, and who wants likely sizes knows.
    limitSymbol(size, 2, symbols[symbol.getPosition()].max);
    return success();
  }
  // With 1 negative and 0 not: the quotient is -1 for 0, and 0 for all others.
  AffineExpr condition = size - 2;
  if (!isPositive)
    condition = condition - (size - 1).floorDiv(graph::maxElements) * 2;
  if (session.checked.contains(condition) || (isOutermost && !session.checked.insert(condition).second))
    return success();
  requireSizes({condition}, "a dimension is 1 that Squeeze leaves out then, and the model was compiled for other "
                            "sizes, which have one dimension more");
  return success();
}

// The dimension is kept first, and whether the model could go on without it is found out as for branches.
FailureOr<bool> Node::isSqueezed(int64_t axis) {
  AffineExpr size = graph::sizesOf(input(0))[axis];
  graph::SymbolList symbols = this->symbols();
  std::optional<int64_t> low = graph::size::lowerBound(size, symbols), high = graph::size::upperBound(size, symbols);
  if (low && high && *low == 1 && *high == 1)
    return true;
  if ((low && *low > 1) || (high && *high < 1))
    return false;
  std::string text = graph::sizeText(size, symbols);
  bool isComputed = graph::isComputed(size, symbols);
  if (session.isGuess)
    return error(ErrorCode::UnsupportedShape) << "without axes it cannot be known whether " << text << " is 1";
  std::string key = (nodeName(location) + "#" + Twine(axis)).str();
  if (llvm::none_of(session.unequal, [&](const UnequalRanks &met) { return met.key == key; })) {
    bool isDim = isa<AffineSymbolExpr>(size) && !isComputed;
    session.unequal.push_back({location, key, isComputed ? "a size that data decides" : text, isDim ? text : "",
                               session.openBranches, isComputed, /*isSqueeze=*/true});
  }
  if (session.takesSecond.contains(key))
    return true;
  if (failed(requireNotOne(size)))
    return failure();
  return false;
}

// Whether both are a number, with dimensions of size 1 or none around it.
static bool areOneNumber(Type a, Type b) {
  auto x = cast<RankedTensorType>(a), y = cast<RankedTensorType>(b);
  return x.getElementType() == y.getElementType() && x.hasStaticShape() && y.hasStaticShape() &&
         x.getNumElements() == 1 && y.getNumElements() == 1;
}

// Gives a number that the block yields fewer dimensions around it.
static Value yieldReshaped(Node &node, Region &branch, unsigned number, ArrayRef<int64_t> shape) {
  OpBuilder::InsertionGuard guard(node.builder());
  Operation *yield = branch.front().getTerminator();
  node.builder().setInsertionPoint(yield);
  Value value = node.emit("Reshape", {yield->getOperand(number), node.ints(shape, "number_shape")}, {}, "number");
  if (value)
    yield->setOperand(number, value);
  return value;
}

FailureOr<SmallVector<Value>> Node::branch(Value condition, BranchBody body) {
  unsigned known = graph::getSymbols(module()).size();
  auto op = graph::IfOp::create(session.builder, location, TypeRange{}, condition, builder().getDenseI64ArrayAttr({}));
  SmallVector<SmallVector<Value>> values;
  for (bool isThen : {true, false}) {
    OpBuilder::InsertionGuard guard(session.builder);
    Region &region = isThen ? op.getThenBranch() : op.getElseBranch();
    session.builder.createBlock(&region);
    ++session.openBranches;
    FailureOr<SmallVector<Value>> made = body(isThen);
    --session.openBranches;
    if (failed(made))
      return op->erase(), failure();
    graph::YieldOp::create(session.builder, location, *made);
    values.push_back(std::move(*made));
  }
  SmallVector<int64_t> symbols;
  SmallVector<Type> results;
  for (auto [i, thenValue, elseValue] : llvm::enumerate(values[0], values[1])) {
    Type a = thenValue.getType(), b = elseValue.getType();
    std::optional<graph::Sizes> sizes = join(a, b);
    if (!sizes && areOneNumber(a, b) && !session.isGuess) {
      bool isThen = cast<RankedTensorType>(a).getRank() > cast<RankedTensorType>(b).getRank();
      auto meant = cast<RankedTensorType>(isThen ? b : a);
      if (!yieldReshaped(*this, isThen ? op.getThenBranch() : op.getElseBranch(), i, meant.getShape()))
        return op->erase(), failure();
      sizes = graph::sizesOf(meant);
    }
    if (!sizes) {
      op->erase();
      if (getElementTypeOrSelf(a) == getElementTypeOrSelf(b))
        return takeOneRank(condition, body, cast<RankedTensorType>(a), cast<RankedTensorType>(b));
      return error(ErrorCode::BadType) << "output " << i << " is " << text(a) << " in one branch and " << text(b)
                                       << " in the other";
    }
    results.push_back(outsideType(*sizes, getElementTypeOrSelf(a), known, symbols));
  }
  // The same op with its results.
  OperationState state(location, graph::IfOp::getOperationName());
  state.addOperands(condition);
  state.addTypes(results);
  state.addRegion()->takeBody(op.getThenBranch());
  state.addRegion()->takeBody(op.getElseBranch());
  state.addAttribute("symbols", builder().getDenseI64ArrayAttr(symbols));
  state.addAttribute("graph.name", builder().getStringAttr(nameFor("if")));
  Operation *finished = session.builder.create(state);
  op->erase();
  return SmallVector<Value>(finished->getResults());
}

// Zeros of a type whose sizes are over the first symbols only; null for others.
static Value filler(Node &node, Type type, unsigned symbols) {
  auto tensor = cast<RankedTensorType>(type);
  graph::Sizes sizes = graph::sizesOf(tensor);
  llvm::SmallBitVector used;
  for (AffineExpr size : sizes)
    graph::collectSymbols(size, used);
  if (used.find_last() >= int(symbols))
    return {};
  Attribute zero = node.builder().getZeroAttr(RankedTensorType::get({1}, tensor.getElementType()));
  Value shape = node.sizesValue(sizes, /*isScalar=*/false, "filler_sizes");
  return node.emit("ConstantOfShape", shape, node.attr("value", zero), "filler");
}

// Checks at run time that a loop runs at all.
static LogicalResult requireIteration(Node &node, Value trip, Value condition) {
  constexpr StringLiteral why = "the body changes how many dimensions a carried value has, so that it must run once";
  auto asScalar = [&](Value value) { return node.emit("Reshape", {value, node.ints({}, "scalar")}, {}, "scalar"); };
  if (trip) {
    Value zero = node.scalar(0, getElementTypeOrSelf(trip), "zero");
    if (failed(node.require(node.emit("Greater", {asScalar(trip), zero}, {}, "has_trips"), true, why)))
      return failure();
  }
  return condition ? node.require(asScalar(condition), true, why) : success();
}

FailureOr<SmallVector<Value>> Node::loop(Value trip, Value condition, ValueRange carried, LoopBody body,
                                         StringRef suffix) {
  Type i64 = builder().getI64Type();
  unsigned known = graph::getSymbols(module()).size();
  SmallVector<Type> types(carried.getTypes());
  SmallVector<Value> start(carried);
  SmallVector<int64_t> bodySymbols;
  bool mustRun = false;
  auto scalar = [&](Type element) { return RankedTensorType::get({}, element); };
  // Each round makes at least one more size a symbol.
  for (unsigned round = 0; round < 16; ++round) {
    auto op = graph::LoopOp::create(session.builder, location, TypeRange{}, trip ? trip : none(),
                                    condition ? condition : none(), start, bodySymbols, ArrayRef<int64_t>{});
    Block *block;
    FailureOr<SmallVector<Value>> made = failure();
    {
      OpBuilder::InsertionGuard guard(session.builder);
      SmallVector<Type> arguments{scalar(i64), scalar(builder().getI1Type())};
      llvm::append_range(arguments, types);
      block =
          session.builder.createBlock(&op.getBody(), {}, arguments, SmallVector<Location>(arguments.size(), location));
      made = body(block->getArgument(0), block->getArgument(1), block->getArguments().drop_front(2));
      if (succeeded(made))
        graph::YieldOp::create(session.builder, location, *made);
    }
    if (failed(made))
      return op->erase(), failure();
    bool isStable = true;
    for (auto [i, type] : llvm::enumerate(types)) {
      Type next = (*made)[1 + i].getType();
      std::optional<graph::Sizes> sizes = join(type, next);
      // Frameworks carry a number into a loop as a scalar and through it as a vector of one: the latter is meant.
      if (!sizes && areOneNumber(type, next)) {
        auto shape = cast<RankedTensorType>(next).getShape();
        start[i] = emit("Reshape", {carried[i], ints(shape, "carried_shape")}, {}, "carried_number");
        // Without an iteration it would be what it was.
        type = next, isStable = false, mustRun = true;
        continue;
      }
      // What no iteration reads before it is there may be anything before the first one, which must then come.
      if (!sizes && block->getArgument(2 + i).use_empty() && (start[i] = filler(*this, next, known))) {
        type = next, isStable = false, mustRun = true;
        continue;
      }
      if (!sizes) {
        bool isSameElement = getElementTypeOrSelf(type) == getElementTypeOrSelf(next);
        error(isSameElement ? ErrorCode::UnsupportedShape : ErrorCode::BadType)
            << "carried value " << i << " is " << text(type) << " before an iteration and " << text(next)
            << " after it; only sizes may change";
        return op->erase(), failure();
      }
      for (auto [size, before] : llvm::zip_equal(*sizes, graph::sizesOf(cast<RankedTensorType>(type)))) {
        auto symbol = dyn_cast<AffineSymbolExpr>(before);
        if (symbol && llvm::is_contained(bodySymbols, int64_t(symbol.getPosition())))
          size = before;
        if (size)
          continue;
        isStable = false;
        size = graph::addComputedSymbol(module(), nameFor("carried"));
        bodySymbols.push_back(cast<AffineSymbolExpr>(size).getPosition());
      }
      type = graph::tensorOf(*sizes, cast<RankedTensorType>(type).getElementType());
    }
    if (!isStable) {
      op->erase();
      continue;
    }
    if (mustRun && failed(requireIteration(*this, trip, condition)))
      return op->erase(), failure();
    SmallVector<int64_t> symbols;
    SmallVector<Type> results;
    auto outside = [&](Type type) {
      return outsideType(graph::sizesOf(cast<RankedTensorType>(type)), getElementTypeOrSelf(type), known, symbols);
    };
    for (Type type : types)
      results.push_back(outside(type));
    // How often it runs is known where nothing but the number of iterations ends it.
    auto isAlways = [&](Value value) {
      auto constant = value ? graph::constantElementsOf(value) : std::nullopt;
      return value == block->getArgument(1) || (constant && constant->front());
    };
    std::optional<graph::Elements> count;
    if (trip && (!condition || isAlways(condition)) && isAlways((*made)[0]))
      count = graph::elementsOf(trip);
    for (Value slice : llvm::drop_begin(*made, 1 + types.size())) {
      RankedTensorType part = outside(slice.getType());
      graph::Sizes sizes = graph::sizesOf(part);
      AffineExpr length;
      if (count && graph::size::isAtLeast(count->front(), zero(context()), graph::getSymbols(module())))
        length = count->front();
      else {
        length = graph::addComputedSymbol(module(), nameFor("iterations"));
        symbols.push_back(cast<AffineSymbolExpr>(length).getPosition());
      }
      sizes.insert(sizes.begin(), length);
      results.push_back(graph::tensorOf(sizes, part.getElementType()));
    }
    // The same op with its results.
    OperationState state(location, graph::LoopOp::getOperationName());
    state.addOperands(op->getOperands());
    state.addTypes(results);
    state.addRegion()->takeBody(op.getBody());
    state.addAttribute("body_symbols", builder().getDenseI64ArrayAttr(bodySymbols));
    state.addAttribute("symbols", builder().getDenseI64ArrayAttr(symbols));
    state.addAttribute("graph.name", builder().getStringAttr(nameFor(suffix.empty() ? "loop" : suffix)));
    Operation *finished = session.builder.create(state);
    op->erase();
    return SmallVector<Value>(finished->getResults());
  }
  error(ErrorCode::UnsupportedShape) << "the sizes of what the loop carries do not settle";
  return failure();
}

} // namespace fathom::importer
