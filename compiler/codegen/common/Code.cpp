// Implementation of the loop-level builder.
#include "compiler/codegen/common/Code.h"

#include "compiler/graph/Layout.h"
#include "mlir/Dialect/UB/IR/UBOps.h"

using namespace mlir;

namespace fathom {

Type registerType(Type element) {
  if (auto integer = dyn_cast<IntegerType>(element))
    return IntegerType::get(element.getContext(), integer.getWidth());
  return element;
}

Type memoryType(Type element) {
  return element.isInteger(1) ? IntegerType::get(element.getContext(), 8) : registerType(element);
}

Type vectorType(Type element, int64_t lanes) {
  Type scalar = registerType(element);
  return lanes == 1 ? scalar : VectorType::get({lanes}, scalar);
}

Value Code::i64(int64_t value) { return arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(value)); }
Value Code::i32(int32_t value) { return arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(value)); }

Value Code::number(Type type, double value) {
  Type element = getElementTypeOrSelf(type);
  TypedAttr attr = isa<FloatType>(element) ? TypedAttr(b.getFloatAttr(element, value))
                                           : TypedAttr(b.getIntegerAttr(element, int64_t(value)));
  if (auto vector = dyn_cast<VectorType>(type))
    attr = DenseElementsAttr::get(vector, attr);
  return arith::ConstantOp::create(b, loc, attr);
}

Value Code::integer(Type type, int64_t value) {
  TypedAttr attr = b.getIntegerAttr(getElementTypeOrSelf(type), value);
  if (auto vector = dyn_cast<VectorType>(type))
    attr = DenseElementsAttr::get(vector, attr);
  return arith::ConstantOp::create(b, loc, attr);
}

Value Code::expr(AffineExpr expr) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return i64(constant.getValue());
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return symbols[symbol.getPosition()];
  auto binary = cast<AffineBinaryOpExpr>(expr);
  return this->binary(binary.getKind(), this->expr(binary.getLHS()), this->expr(binary.getRHS()));
}

Value Code::binary(AffineExprKind kind, Value x, Value y) {
  if (kind == AffineExprKind::Add)
    return add(x, y);
  if (kind == AffineExprKind::Mul)
    return mul(x, y);
  // A divisor that is a size may be 0 at run time; whatever is divided by it has no elements then.
  if (!constant(y))
    y = max(y, i64(1));
  if (kind == AffineExprKind::FloorDiv)
    return b.createOrFold<arith::FloorDivSIOp>(loc, x, y);
  if (kind == AffineExprKind::CeilDiv)
    return b.createOrFold<arith::CeilDivSIOp>(loc, x, y);
  // Euclidean remainder, as affine expressions define it.
  Value r = b.createOrFold<arith::RemSIOp>(loc, x, y);
  return select(cmp(arith::CmpIPredicate::slt, r, i64(0)), add(r, y), r);
}

Value Code::add(Value x, Value y) { return b.createOrFold<arith::AddIOp>(loc, x, y); }
Value Code::sub(Value x, Value y) { return b.createOrFold<arith::SubIOp>(loc, x, y); }
Value Code::mul(Value x, Value y) { return b.createOrFold<arith::MulIOp>(loc, x, y); }
Value Code::div(Value x, Value y) { return constant(y) == 1 ? x : b.createOrFold<arith::DivUIOp>(loc, x, y); }
Value Code::rem(Value x, Value y) { return constant(y) == 1 ? i64(0) : b.createOrFold<arith::RemUIOp>(loc, x, y); }
Value Code::min(Value x, Value y) { return b.createOrFold<arith::MinSIOp>(loc, x, y); }
Value Code::max(Value x, Value y) { return b.createOrFold<arith::MaxSIOp>(loc, x, y); }
Value Code::cmp(arith::CmpIPredicate predicate, Value x, Value y) {
  return b.createOrFold<arith::CmpIOp>(loc, predicate, x, y);
}
Value Code::both(Value x, Value y) { return b.createOrFold<arith::AndIOp>(loc, x, y); }
Value Code::select(Value condition, Value x, Value y) { return b.createOrFold<arith::SelectOp>(loc, condition, x, y); }

std::optional<int64_t> Code::constant(Value value) {
  APInt number;
  if (matchPattern(value, m_ConstantInt(&number)))
    return number.getBitWidth() == 1 ? int64_t(number.getZExtValue()) : number.getSExtValue();
  return std::nullopt;
}

void Code::within(llvm::function_ref<void()> build) {
  open.push_back(++regions);
  build();
  open.pop_back();
}

void Code::loop(Value lower, Value upper, int64_t step, Body body) {
  auto low = constant(lower), high = constant(upper);
  if (low && high) {
    if (*low >= *high)
      return;
    if (*low + step >= *high)
      return body(lower);
  }
  scf::ForOp::create(b, loc, lower, upper, i64(step), ValueRange{}, [&](OpBuilder &, Location, Value iv, ValueRange) {
    within([&] { body(iv); });
    scf::YieldOp::create(b, loc);
  });
}

SmallVector<Value> Code::loop(Value lower, Value upper, int64_t step, ValueRange init, CarryBody body) {
  auto low = constant(lower), high = constant(upper);
  if (low && high) {
    if (*low >= *high)
      return init;
    if (*low + step >= *high)
      return body(lower, init);
  }
  auto loop = scf::ForOp::create(b, loc, lower, upper, i64(step), init,
                                 [&](OpBuilder &, Location, Value iv, ValueRange carried) {
                                   SmallVector<Value> next;
                                   within([&] { next = body(iv, carried); });
                                   scf::YieldOp::create(b, loc, next);
                                 });
  return SmallVector<Value>(loop.getResults());
}

void Code::when(Value condition, llvm::function_ref<void()> body) {
  if (auto known = constant(condition)) {
    if (*known)
      body();
    return;
  }
  scf::IfOp::create(b, loc, condition, [&](OpBuilder &, Location) {
    within(body);
    scf::YieldOp::create(b, loc);
  });
}

Value Code::when(Value condition, llvm::function_ref<Value()> yes, llvm::function_ref<Value()> no) {
  return whenAll(condition, [&] { return SmallVector<Value>{yes()}; }, [&] { return SmallVector<Value>{no()}; })[0];
}

SmallVector<Value> Code::whenAll(Value condition, Several yes, Several no) {
  if (auto known = constant(condition))
    return *known ? yes() : no();
  auto yield = [&](Several branch) {
    SmallVector<Value> results;
    within([&] { results = branch(); });
    scf::YieldOp::create(b, loc, results);
  };
  auto branch = scf::IfOp::create(
      b, loc, condition, [&](OpBuilder &, Location) { yield(yes); }, [&](OpBuilder &, Location) { yield(no); });
  return branch.getResults();
}

Value Code::address(Value pointer, Value index, Type element) {
  if (constant(index) == 0)
    return pointer;
  return LLVM::GEPOp::create(b, loc, pointer.getType(), memoryType(element), pointer, ArrayRef<LLVM::GEPArg>{index},
                             LLVM::GEPNoWrapFlags::inbounds);
}

Value Code::addressOutside(Value pointer, Value index, Type element) {
  return LLVM::GEPOp::create(b, loc, pointer.getType(), memoryType(element), pointer, ArrayRef<LLVM::GEPArg>{index});
}

void Code::prefetch(Value pointer, Value index, Type element, CacheLevel level) {
  constexpr int64_t read = 0, data = 1;
  LLVM::Prefetch::create(b, loc, addressOutside(pointer, index, element), read, int64_t(level), data);
}

Value Code::whole(Value pointer) { return LLVM::LaunderInvariantGroupOp::create(b, loc, pointer); }

void Code::keepLoadsBehind() {
  LLVM::InlineAsmOp::create(b, loc, TypeRange(), ValueRange(), /*asm_string=*/"", /*constraints=*/"~{memory}",
                            /*has_side_effects=*/true, /*is_align_stack=*/false, LLVM::tailcallkind::TailCallKind::None,
                            /*asm_dialect=*/nullptr,
                            /*operand_attrs=*/nullptr);
}

Value Code::load(Value pointer, Value index, Type element, int64_t lanes) {
  Type memory = memoryType(element);
  Value value = LLVM::LoadOp::create(b, loc, lanes == 1 ? memory : VectorType::get({lanes}, memory),
                                     address(pointer, index, element), elementBytes(element));
  if (!element.isInteger(1))
    return value;
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, value, integer(value.getType(), 0));
}

void Code::store(Value value, Value pointer, Value index, Type element) {
  if (element.isInteger(1)) {
    auto vector = dyn_cast<VectorType>(value.getType());
    Type bytes = vector ? Type(vector.clone(b.getI8Type())) : Type(b.getI8Type());
    value = arith::ExtUIOp::create(b, loc, bytes, value);
  }
  // LLVM 22 for AArch64 loses a lane when it stores three bytes that were 64-bit integers before.
  auto vector = dyn_cast<VectorType>(value.getType());
  if (vector && elementBytes(element) == 1 && !llvm::isPowerOf2_64(vector.getNumElements())) {
    for (int64_t lane = 0; lane < vector.getNumElements(); ++lane)
      LLVM::StoreOp::create(b, loc, extract(value, lane), address(pointer, add(index, lane), element), 1);
    return;
  }
  LLVM::StoreOp::create(b, loc, value, address(pointer, index, element), elementBytes(element));
}

void Code::memset(Value pointer, Value bytes) {
  Value zero = arith::ConstantOp::create(b, loc, b.getI8IntegerAttr(0));
  LLVM::MemsetOp::create(b, loc, pointer, zero, bytes, /*isVolatile=*/false);
}

Value Code::splat(Value scalar, int64_t lanes) {
  if (lanes == 1)
    return scalar;
  return vector::BroadcastOp::create(b, loc, VectorType::get({lanes}, scalar.getType()), scalar);
}
Value Code::extract(Value vector, int64_t lane) {
  return isa<VectorType>(vector.getType()) ? Value(vector::ExtractOp::create(b, loc, vector, lane)) : vector;
}
Value Code::insert(Value scalar, Value vector, int64_t lane) {
  return isa<VectorType>(vector.getType()) ? Value(vector::InsertOp::create(b, loc, scalar, vector, lane)) : scalar;
}
Value Code::undefined(Type type) { return ub::PoisonOp::create(b, loc, type); }

} // namespace fathom
