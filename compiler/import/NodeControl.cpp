// What nodes make of decisions at run time: sizes read from data, checks of what was assumed about sizes, branches and
// loops.
#include "compiler/graph/Graph.h"
#include "compiler/graph/SizeMath.h"
#include "compiler/import/Node.h"

using namespace mlir;

namespace fathom::importer {

static AffineExpr zero(MLIRContext *context) { return getAffineConstantExpr(0, context); }

LogicalResult Node::checkAssumptions(const graph::CollectAssumptions &assumptions, Operation *op) {
  if (assumptions.equal.empty() && assumptions.atLeast.empty())
    return success();
  SmallVector<graph::Symbol> symbols = graph::getSymbols(module());
  SmallVector<AffineExpr> conditions;
  // What is inside a branch need not hold where the branch is not taken.
  bool isOutermost = op->getBlock() == &session.main.getBody().front();
  auto require = [&](AffineExpr a, AffineExpr b) {
    AffineExpr condition = graph::size::sub(a, b);
    if (!condition || graph::size::isAtLeast(a, b, symbols))
      return;
    if (session.checked.contains(condition) || (isOutermost && !session.checked.insert(condition).second))
      return;
    conditions.push_back(condition);
  };
  bool isNarrowed = false;
  for (auto [a, b] : assumptions.equal) {
    // An input's dimension that can only have one size is refused where the inputs are checked, with the best message.
    if (graph::constantSize(a))
      std::swap(a, b);
    auto symbol = dyn_cast<AffineSymbolExpr>(a);
    std::optional<int64_t> size = graph::constantSize(b);
    if (isOutermost && size && symbol && !symbols[symbol.getPosition()].isComputed) {
      graph::Symbol &range = symbols[symbol.getPosition()];
      if (*size < range.min || *size > range.max)
        return error(ErrorCode::BadShape) << "dimension '" << range.name << "' would have to be " << *size
                                          << ", outside its range of " << range.min << " to " << range.max;
      range.min = range.max = *size;
      isNarrowed = true;
      continue;
    }
    auto other = dyn_cast<AffineSymbolExpr>(b);
    if (isOutermost && symbol && other && !symbols[symbol.getPosition()].isComputed &&
        !symbols[other.getPosition()].isComputed) {
      session.same.push_back(std::minmax(symbol.getPosition(), other.getPosition()));
      continue;
    }
    require(a, b);
    require(b, a);
  }
  for (auto [a, b] : assumptions.atLeast)
    require(a, b);
  if (isNarrowed)
    graph::setSymbols(module(), symbols);
  if (conditions.empty())
    return success();
  OpBuilder::InsertionGuard guard(session.builder);
  session.builder.setInsertionPoint(op);
  graph::AssertOp::create(session.builder, location, graph::shapeMapOf(conditions, context()));
  return success();
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

Value Node::pinned(Value integers, StringRef suffix) {
  if (!integers)
    return {};
  auto type = cast<RankedTensorType>(integers.getType());
  std::optional<graph::Elements> elements = graph::partialElementsOf(integers);
  if (elements && !llvm::is_contained(*elements, AffineExpr()))
    return elements->empty() ? sizesValue({}, /*isScalar=*/false, suffix) : integers;
  if (!elements || type.getRank() > 1 || !isa<IntegerType>(type.getElementType())) {
    error(ErrorCode::UnsupportedShape) << "a tensor of type " << type << " cannot decide about sizes";
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
  graph::PinOp::create(session.builder, location, integers, positions, symbols);
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
  SmallVector<graph::Symbol> symbols = graph::getSymbols(module());
  graph::Symbol &range = symbols[cast<AffineSymbolExpr>(symbol).getPosition()];
  range.min = min, range.max = max;
  graph::setSymbols(module(), symbols);
}

LogicalResult Node::require(Value flag, bool value) {
  Value number = emit("Cast", flag, attr("to", TypeAttr::get(builder().getI64Type())), "condition");
  if (!number)
    return failure();
  AffineExpr symbol = newSymbol("taken");
  limitSymbol(symbol, value, value);
  graph::PinOp::create(session.builder, location, number, ArrayRef<int64_t>{0},
                       ArrayRef<int64_t>{cast<AffineSymbolExpr>(symbol).getPosition()});
  return success();
}

FailureOr<SmallVector<Value>> Node::branch(Value condition, BranchBody body) {
  unsigned known = graph::getSymbols(module()).size();
  auto op = graph::IfOp::create(session.builder, location, TypeRange{}, condition, builder().getDenseI64ArrayAttr({}));
  SmallVector<SmallVector<Value>> values;
  for (bool isThen : {true, false}) {
    OpBuilder::InsertionGuard guard(session.builder);
    Region &region = isThen ? op.getThenBranch() : op.getElseBranch();
    session.builder.createBlock(&region);
    FailureOr<SmallVector<Value>> made = body(isThen);
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
    if (!sizes) {
      // Frameworks squeeze a dimension "if it is 1", and mean that it is: the branch with fewer dimensions is meant.
      bool isThen = cast<RankedTensorType>(a).getRank() < cast<RankedTensorType>(b).getRank();
      bool mayAssume = getElementTypeOrSelf(a) == getElementTypeOrSelf(b) && !session.isGuess;
      if (!mayAssume)
        error(ErrorCode::UnsupportedShape)
            << "output " << i << " is " << a << " in one branch and " << b << " in the other; only sizes may differ";
      op->erase();
      if (!mayAssume || failed(require(condition, isThen)))
        return failure();
      return body(isThen);
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

FailureOr<SmallVector<Value>> Node::loop(Value trip, Value condition, ValueRange carried, LoopBody body,
                                         StringRef suffix) {
  Type i64 = builder().getI64Type();
  unsigned known = graph::getSymbols(module()).size();
  SmallVector<Type> types(carried.getTypes());
  SmallVector<int64_t> bodySymbols;
  auto scalar = [&](Type element) { return RankedTensorType::get({}, element); };
  // Each round makes at least one more size a symbol.
  for (unsigned round = 0; round < 16; ++round) {
    auto op = graph::LoopOp::create(session.builder, location, TypeRange{}, trip ? trip : none(),
                                    condition ? condition : none(), carried, bodySymbols, ArrayRef<int64_t>{});
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
      if (!sizes) {
        error(ErrorCode::UnsupportedShape) << "carried value " << i << " is " << type << " before an iteration and "
                                           << next << " after it; only sizes may change";
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
