// What the shape functions of all families share: reading operands, checking attributes, reporting, making result
// types.
#include "compiler/graph/ShapeSupport.h"

#include "compiler/graph/TypeText.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace fathom::graph {

bool isKind(Type element, Kind kind) {
  auto integer = dyn_cast<IntegerType>(element);
  bool isFloat = isa<FloatType>(element), isBool = element.isSignlessInteger(1), isInteger = integer && !isBool;
  switch (kind) {
  case Kind::Any:
    return true;
  case Kind::Numeric:
    return !isBool;
  case Kind::Signed:
    return isFloat || (isInteger && integer.isSignless());
  case Kind::Wide:
    return isFloat || (isInteger && integer.getWidth() >= 32);
  case Kind::Float:
    return isFloat;
  case Kind::Integer:
    return isInteger;
  case Kind::Bool:
    return isBool;
  case Kind::Index:
    return element.isSignlessInteger(32) || element.isSignlessInteger(64);
  }
  llvm_unreachable("all kinds are listed");
}

static StringRef kindName(Kind kind) {
  static constexpr StringRef names[] = {"anything",
                                        "numbers",
                                        "floats or signed integers",
                                        "floats or integers of 32 or 64 bits",
                                        "floats",
                                        "integers",
                                        "bools",
                                        "int32 or int64"};
  return names[size_t(kind)];
}

LogicalResult checkKind(Operation *op, Value value, Kind kind, StringRef name) {
  if (isKind(elementOf(value), kind))
    return success();
  return emitError(op, ErrorCode::BadType)
         << name << " must hold " << kindName(kind) << ", but holds " << elementText(elementOf(value));
}

LogicalResult checkSameElement(Operation *op, ValueRange values) {
  Type element;
  for (Value value : values) {
    if (isAbsent(value))
      continue;
    if (element && element != elementOf(value))
      return emitError(op, ErrorCode::BadType) << "inputs must have one element type, but have " << elementText(element)
                                               << " and " << elementText(elementOf(value));
    element = elementOf(value);
  }
  return success();
}

bool isScalar(Value value) {
  return llvm::all_of(sizesOf(value), [](AffineExpr size) { return isConstant(size, 1); });
}

std::string text(Operation *op, AffineExpr size) { return sizeText(size, symbolsFor(op)); }
std::string text(Operation *op, ArrayRef<AffineExpr> sizes) { return sizesText(sizes, symbolsFor(op)); }

FailureOr<int64_t> checkAxis(Operation *op, int64_t axis, int64_t rank, StringRef name) {
  if (std::optional<int64_t> normal = normalizeAxis(axis, rank))
    return *normal;
  return emitError(op, ErrorCode::BadAttribute)
         << name << " " << axis << " is out of range for a tensor of rank " << rank;
}

FailureOr<SmallVector<int64_t>> checkAxes(Operation *op, ArrayRef<int64_t> axes, int64_t rank) {
  SmallVector<int64_t> result;
  SmallVector<bool> seen(rank, false);
  for (int64_t axis : axes) {
    FailureOr<int64_t> normal = checkAxis(op, axis, rank);
    if (failed(normal))
      return failure();
    if (std::exchange(seen[*normal], true))
      return emitError(op, ErrorCode::BadAttribute) << "axis " << axis << " is given twice";
    result.push_back(*normal);
  }
  return result;
}

LogicalResult checkOneOf(Operation *op, StringRef name, StringRef value, ArrayRef<StringRef> allowed) {
  if (llvm::is_contained(allowed, value))
    return success();
  return emitError(op, ErrorCode::BadAttribute)
         << name << " is '" << value << "', but must be one of " << llvm::join(allowed, ", ");
}

LogicalResult checkRank(Operation *op, Value value, int64_t rank, StringRef name) {
  if (rankOf(value) == rank)
    return success();
  return emitError(op, ErrorCode::BadShape)
         << name << " must have rank " << rank << ", but has sizes " << text(op, sizesOf(value));
}

LogicalResult checkRankAtLeast(Operation *op, Value value, int64_t rank, StringRef name) {
  if (rankOf(value) >= rank)
    return success();
  return emitError(op, ErrorCode::BadShape)
         << name << " must have at least rank " << rank << ", but has sizes " << text(op, sizesOf(value));
}

static LogicalResult checkShapeOperand(Operation *op, Value value, StringRef name) {
  if (failed(checkKind(op, value, Kind::Integer, name)))
    return failure();
  if (rankOf(value) > 1)
    return emitError(op, ErrorCode::BadShape)
           << name << " must have rank 0 or 1, but has sizes " << text(op, sizesOf(value));
  return success();
}

FailureOr<Elements> neededElements(Operation *op, Value value, StringRef name) {
  if (failed(checkShapeOperand(op, value, name)))
    return failure();
  if (std::optional<Elements> elements = elementsOf(value))
    return *elements;
  return hint(emitError(op, ErrorCode::UnsupportedShape)
                  << name << " decides about sizes but is only known when the model runs",
              "only values computed from constants and from the sizes of tensors are known at compile time");
}

FailureOr<SmallVector<int64_t>> neededConstants(Operation *op, Value value, StringRef name) {
  FailureOr<Elements> elements = neededElements(op, value, name);
  if (failed(elements))
    return failure();
  SmallVector<int64_t> constants;
  for (AffineExpr element : *elements) {
    std::optional<int64_t> constant = constantSize(element);
    if (!constant)
      return emitError(op, ErrorCode::UnsupportedShape) << name << " must be constant, but holds " << text(op, element);
    constants.push_back(*constant);
  }
  return constants;
}

// Of two sizes that are the same when the model runs, the one of which more is known before.
static AffineExpr preferred(AffineExpr a, AffineExpr b, const SymbolList &symbols) {
  if (constantSize(a) || constantSize(b))
    return constantSize(a) ? a : b;
  return isComputed(a, symbols) && !isComputed(b, symbols) ? b : a;
}

FailureOr<AffineExpr> unify(Operation *op, AffineExpr a, AffineExpr b, const Twine &what) {
  if (size::same(a, b))
    return a;
  if (constantSize(a) && constantSize(b))
    return emitError(op, ErrorCode::BadShape)
           << what << " must have equal sizes, but have " << text(op, a) << " and " << text(op, b);
  assumeEqual(a, b);
  return preferred(a, b, symbolsFor(op));
}

// Two symbolic sizes are taken to be the same: one of them being 1 while the other is not is refused at run time.
// On failure `conflict` holds the two sizes that do not go together.
static std::optional<Sizes> broadcast(ArrayRef<Sizes> operands, MLIRContext *context, const SymbolList &symbols,
                                      std::pair<AffineExpr, AffineExpr> &conflict) {
  size_t rank = 0;
  for (const Sizes &sizes : operands)
    rank = std::max(rank, sizes.size());
  Sizes result(rank, getAffineConstantExpr(1, context));
  for (const Sizes &sizes : operands)
    for (auto [index, size] : llvm::enumerate(sizes)) {
      AffineExpr &current = result[rank - sizes.size() + index];
      if (isConstant(size, 1) || size::same(current, size))
        continue;
      if (isConstant(current, 1)) {
        current = size;
        continue;
      }
      if (constantSize(current) && constantSize(size)) {
        conflict = {current, size};
        return std::nullopt;
      }
      assumeEqual(current, size);
      current = preferred(current, size, symbols);
    }
  return result;
}

std::optional<Sizes> broadcastSizes(ArrayRef<Sizes> operands, MLIRContext *context) {
  std::pair<AffineExpr, AffineExpr> conflict;
  return broadcast(operands, context, {}, conflict);
}

FailureOr<Sizes> broadcast(Operation *op, ArrayRef<Sizes> operands) {
  std::pair<AffineExpr, AffineExpr> conflict;
  if (std::optional<Sizes> sizes = broadcast(operands, op->getContext(), symbolsFor(op), conflict))
    return *sizes;
  return emitError(op, ErrorCode::BadShape) << "sizes " << text(op, conflict.first) << " and "
                                            << text(op, conflict.second) << " cannot be broadcast together";
}

LogicalResult checkBroadcastTo(Operation *op, Value value, ArrayRef<AffineExpr> target, StringRef name) {
  Sizes sizes(target);
  FailureOr<Sizes> result = broadcast(op, {sizes, sizesOf(value)});
  if (failed(result))
    return failure();
  bool isSame = result->size() == target.size();
  for (size_t i = 0; isSame && i < target.size(); ++i) {
    if (size::same((*result)[i], target[i]) || !constantSize(target[i]))
      continue;
    // A symbolic size beside a 1 has to be 1 as well.
    isSame = !constantSize((*result)[i]);
    assumeEqual((*result)[i], target[i]);
  }
  if (isSame)
    return success();
  return emitError(op, ErrorCode::BadShape)
         << name << " with sizes " << text(op, sizesOf(value)) << " cannot be broadcast to " << text(op, target);
}

// A tensor of a static size beyond this is refused at once; a few lines of a model can ask for it.
static constexpr int64_t maxBytes = int64_t(64) << 30;

LogicalResult addResult(Operation *op, SmallVectorImpl<Type> &types, ArrayRef<AffineExpr> sizes, Type element) {
  int64_t count = 1;
  for (AffineExpr size : sizes) {
    if (!size)
      return emitError(op, ErrorCode::UnsupportedShape)
             << "a result size is too complex or too large: " << text(op, sizes);
    if (size::upperBound(size).value_or(0) < 0)
      return emitError(op, ErrorCode::BadShape) << "result would have a negative size: " << text(op, sizes);
    int64_t factor = std::max<int64_t>(constantSize(size).value_or(1), 1);
    if (count > maxElements / factor)
      return emitError(op, ErrorCode::BadShape) << "result is too large: " << text(op, sizes);
    count *= factor;
  }
  int64_t bytes = count * llvm::divideCeil(element.getIntOrFloatBitWidth(), 8);
  if (bytes > maxBytes)
    return hint(emitError(op, ErrorCode::Limit)
                    << "result " << text(op, sizes) << " has " << bytes << " bytes, the limit is " << maxBytes,
                "no tensor of a model that can be run is that large: a few operators multiply sizes beyond what was "
                "meant");
  types.push_back(tensorOf(sizes, element));
  return success();
}

} // namespace fathom::graph
