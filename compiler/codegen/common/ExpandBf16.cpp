// What LLVM's back ends lack for bf16, as patterns.
#include "compiler/codegen/common/ExpandBf16.h"

#include "mlir/Dialect/Arith/Transforms/Passes.h"

using namespace mlir;

namespace fathom {
namespace {

// The type with other elements, a scalar or a vector.
Type withElements(Type type, Type element) {
  auto vector = dyn_cast<VectorType>(type);
  return vector ? Type(vector.clone(element)) : element;
}

bool isBf16(Type type) { return getElementTypeOrSelf(type).isBF16(); }

// To the nearest, of two as near to the even one. A NaN stays one, with the bits that there is room for.
LogicalResult roundByIntegers(arith::TruncFOp op, PatternRewriter &b) {
  if (!isBf16(op.getType()) || !getElementTypeOrSelf(op.getIn().getType()).isF32())
    return failure();
  Location loc = op.getLoc();
  Type i32 = withElements(op.getType(), b.getI32Type());
  auto number = [&](int32_t value) -> Value {
    TypedAttr attribute = b.getI32IntegerAttr(value);
    if (auto vector = dyn_cast<VectorType>(i32))
      attribute = DenseElementsAttr::get(vector, value);
    return arith::ConstantOp::create(b, loc, attribute);
  };
  Value bits = arith::BitcastOp::create(b, loc, i32, op.getIn());
  Value high = arith::ShRUIOp::create(b, loc, bits, number(16));
  Value odd = arith::AndIOp::create(b, loc, high, number(1));
  Value up = arith::AddIOp::create(b, loc, bits, arith::AddIOp::create(b, loc, odd, number(0x7fff)));
  Value rounded = arith::ShRUIOp::create(b, loc, up, number(16));
  Value quiet = arith::OrIOp::create(b, loc, high, number(0x40));
  Value isNan = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNO, op.getIn(), op.getIn());
  Value chosen = arith::SelectOp::create(b, loc, isNan, quiet, rounded);
  Value narrow = arith::TruncIOp::create(b, loc, withElements(i32, b.getI16Type()), chosen);
  b.replaceOpWithNewOp<arith::BitcastOp>(op, op.getType(), narrow);
  return success();
}

LogicalResult selectIntegers(arith::SelectOp op, PatternRewriter &b) {
  if (!isBf16(op.getType()))
    return failure();
  Type i16 = withElements(op.getType(), b.getI16Type());
  auto bits = [&](Value value) -> Value { return arith::BitcastOp::create(b, op.getLoc(), i16, value); };
  Value chosen =
      arith::SelectOp::create(b, op.getLoc(), op.getCondition(), bits(op.getTrueValue()), bits(op.getFalseValue()));
  b.replaceOpWithNewOp<arith::BitcastOp>(op, op.getType(), chosen);
  return success();
}

} // namespace

LogicalResult expandBf16(ModuleOp loops) {
  MLIRContext *context = loops.getContext();
  TypeConverter converter;
  arith::populateEmulateUnsupportedFloatsConversions(converter, {BFloat16Type::get(context)},
                                                     Float32Type::get(context));
  ConversionTarget target(*context);
  arith::populateEmulateUnsupportedFloatsLegality(target, converter);
  RewritePatternSet arithmetic(context), conversions(context);
  arith::populateEmulateUnsupportedFloatsPatterns(arithmetic, converter);
  arith::populateExpandBFloat16Patterns(conversions);
  conversions.add(roundByIntegers, /*benefit=*/2).add(selectIntegers);
  return success(succeeded(applyPartialConversion(loops, target, std::move(arithmetic))) &&
                 succeeded(applyPatternsGreedily(loops, std::move(conversions))));
}

} // namespace fathom
