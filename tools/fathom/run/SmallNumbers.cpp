// Numbers of a byte or less, as the compiler's own floats have them.
#include "tools/fathom/run/SmallNumbers.h"

#include "runtime/fathom_rt.h"
#include "llvm/ADT/APFloat.h"
#include <cmath>

using namespace llvm;

namespace fathom {

static const fltSemantics *semanticsOf(int32_t dtype) {
  switch (dtype) {
  case FATHOM_F8E4M3FN:
    return &APFloat::Float8E4M3FN();
  case FATHOM_F8E4M3FNUZ:
    return &APFloat::Float8E4M3FNUZ();
  case FATHOM_F8E5M2:
    return &APFloat::Float8E5M2();
  case FATHOM_F8E5M2FNUZ:
    return &APFloat::Float8E5M2FNUZ();
  case FATHOM_F8E8M0:
    return &APFloat::Float8E8M0FNU();
  case FATHOM_F4E2M1:
    return &APFloat::Float4E2M1FN();
  default:
    return nullptr;
  }
}

bool isSmallDtype(int32_t dtype) { return dtype >= FATHOM_F8E4M3FN && dtype <= FATHOM_I2; }

double decodeSmall(int32_t dtype, uint8_t byte) {
  const fltSemantics *semantics = semanticsOf(dtype);
  if (!semantics) {
    APInt code = APInt(8, byte).trunc(dtype == FATHOM_I4 || dtype == FATHOM_U4 ? 4 : 2);
    return dtype == FATHOM_I4 || dtype == FATHOM_I2 ? double(code.getSExtValue()) : double(code.getZExtValue());
  }
  APFloat number(*semantics, APInt(8, byte).trunc(APFloat::getSizeInBits(*semantics)));
  if (number.isNaN())
    return NAN;
  bool lost;
  number.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &lost);
  return number.convertToDouble();
}

uint8_t drawSmall(int32_t dtype, double normal, uint64_t bits) {
  const fltSemantics *semantics = semanticsOf(dtype);
  if (!semantics)
    return uint8_t(bits & (dtype == FATHOM_I4 || dtype == FATHOM_U4 ? 15 : 3));
  // One of the types has no sign, and no zero.
  APFloat number(dtype == FATHOM_F8E8M0 ? std::max(std::abs(normal), 1e-3) : normal);
  bool lost;
  number.convert(*semantics, APFloat::rmNearestTiesToEven, &lost);
  return uint8_t(number.bitcastToAPInt().getZExtValue());
}

} // namespace fathom
