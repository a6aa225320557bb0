// Which element types are small, and what holds them.
#include "compiler/graph/SmallTypes.h"

#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;

namespace fathom::graph {

StringRef smallTypeName(Type element) {
  if (isa<Float8E4M3FNType>(element))
    return "float8_e4m3fn";
  if (isa<Float8E4M3FNUZType>(element))
    return "float8_e4m3fnuz";
  if (isa<Float8E5M2Type>(element))
    return "float8_e5m2";
  if (isa<Float8E5M2FNUZType>(element))
    return "float8_e5m2fnuz";
  if (isa<Float8E8M0FNUType>(element))
    return "float8_e8m0fnu";
  if (isa<Float4E2M1FNType>(element))
    return "float4_e2m1fn";
  auto integer = dyn_cast<IntegerType>(element);
  if (!integer || integer.isSigned() || (integer.getWidth() != 2 && integer.getWidth() != 4))
    return "";
  if (integer.isUnsigned())
    return integer.getWidth() == 2 ? "uint2" : "uint4";
  return integer.getWidth() == 2 ? "int2" : "int4";
}

bool isSmall(Type element) { return !smallTypeName(element).empty(); }

Type storageOf(Type element) {
  return isSmall(element) ? Type(IntegerType::get(element.getContext(), 8, IntegerType::Unsigned)) : element;
}

} // namespace fathom::graph
