// sin, cos and tan. The argument is reduced exactly over its whole range, by the same operations in every lane. The
// polynomials are minimax fits of our own.
#include "compiler/codegen/common/MathFunctions.h"
#include "llvm/ADT/SmallVector.h"
#include <array>

namespace fathom::mathlowering {

namespace {

// An angle as quadrant * pi/2 + rest + low, |rest| <= pi/4. Only the quadrant's last two bits mean something; f32 has
// no low.
struct Angle {
  Num rest, low;
  Int quadrant;
};

// f32: 1/(2 pi) is cut into pieces of 29 bits, so that a piece times an f32 is exact in f64 and whole turns can be
// dropped piece by piece. Seven pieces reach 2^-205: up to 2^128, the f32 nearest to a multiple of pi/2 still leaves 24
// bits.
Angle reduceSingle(Num x) {
  constexpr double pieces[] = {0x1.45f306dp-3,   0x1.9391054p-32, 0x1.4fe13abp-61, 0x1.d1f534dp-90,
                               0x1.b81b6c5p-119, 0x1.5993c4p-150, 0x1.c820ff2p-177};
  Num wide = widen(x);
  Num turns;
  for (double piece : pieces) {
    Num product = wide * piece;
    Num fraction = product - roundEven(product);
    turns = turns.v ? turns + fraction : fraction;
  }
  Num quarters = turns * 4.0;
  Num nearest = roundEven(quarters);
  Num rest = narrow((quarters - nearest) * 1.57079632679489661923);
  return {rest, {}, bits(narrow(nearest) + roundingConstant(x))};
}

// 192 bits of 2/pi from bit `position` on, where bit 64 is the first after the point; three words, the highest first.
std::array<Int, 3> window(Int position) {
  constexpr uint64_t words[] = {0,
                                0xa2f9836e4e441529,
                                0xfc2757d1f534ddc0,
                                0xdb6295993c439041,
                                0xfe5163abdebbc561,
                                0xb7246e3a424dd2e0,
                                0x06492eea09d1921c,
                                0xfe1deb1cb129a73e,
                                0xe88235f52ebb4484,
                                0xe99c7026b45f7e41,
                                0x3991d639835339f4,
                                0x9c845f8bbdf9283b,
                                0x1ff897ffde05980f,
                                0xef2f118b5a0a6d1f,
                                0x6d367ecf27cb09b7,
                                0x4f463f669e5fea2d,
                                0x7527bac7ebe5f17b,
                                0x3d0739f78a5292ea,
                                0x6bfb5fb11f8d5d08,
                                0x56033046fc7b6bab};
  llvm::SmallVector<Int> table;
  for (uint64_t word : words)
    table.push_back(position.k(static_cast<int64_t>(word)));
  // A shift by whole words, a bit of its amount at a time: no table in memory.
  Int index = shiftRightLogical(position, 6);
  for (int64_t shift : {16, 8, 4, 2, 1}) {
    Mask moves = differs(index & shift, 0);
    llvm::SmallVector<Int> next;
    for (size_t i = 0; i < table.size() && i < size_t(shift) + 3; ++i)
      next.push_back(i + shift < table.size() ? select(moves, table[i + shift], table[i]) : table[i]);
    table = next;
  }
  Int left = position & 63, right = left ^ 63;
  std::array<Int, 3> result;
  for (int i = 0; i < 3; ++i)
    result[i] = (table[i] << left) | shiftRightLogical(shiftRightLogical(table[i + 1], 1), right);
  return result;
}

// f64, after Payne and Hanek: the 53-bit integer of x times the bits of 2/pi that matter for its exponent, modulo 4. x
// >= 0.5.
Angle reduceDouble(Num x) {
  Int encoded = bits(x);
  Int significand = (encoded & 0xfffffffffffff) | 0x10000000000000;
  // x = significand * 2^exponent; the window starts two bits of weight above the point of the product. Masked so that
  // infinities and NaNs, which become NaN below, stay inside the table.
  Int position = (shiftRightLogical(encoded, 52) & 0x7ff) - (1075 - 62);
  std::array<Int, 3> bitsOfPi = window(position);
  Int lowHalf = significand & 0xffffffff, highHalf = shiftRightLogical(significand, 32);
  llvm::SmallVector<Int> limbs; // 32 bits each, the lowest first
  for (int i = 2; i >= 0; --i) {
    limbs.push_back(bitsOfPi[i] & 0xffffffff);
    limbs.push_back(shiftRightLogical(bitsOfPi[i], 32));
  }
  llvm::SmallVector<Int> product;
  Int carry = encoded.k(0);
  for (size_t i = 0; i < limbs.size(); ++i) {
    Int low = lowHalf * limbs[i];
    Int column = (low & 0xffffffff) + carry;
    if (i > 0)
      column = column + highHalf * limbs[i - 1];
    product.push_back(column & 0xffffffff);
    carry = shiftRightLogical(column, 32) + shiftRightLogical(low, 32);
  }
  // The highest 128 bits: two of the quadrant, 126 of the fraction.
  Int high = (product[5] << 32) | product[4], low = (product[3] << 32) | product[2];
  Int quadrant = shiftRightLogical(high + (int64_t(1) << 61), 62);
  // The fraction in [-1/2, 1/2) of a quadrant as three signed numbers of 42 bits, which convert exactly.
  Int top = (high - (quadrant << 62)) >> 20;
  Int middle = ((high & 0xfffff) << 22) | shiftRightLogical(low, 42);
  Int bottom = low & 0x3ffffffffff;
  Pair head = fastTwoSum(toFloat(top, x) * 0x1p-42, toFloat(middle, x) * 0x1p-84);
  Pair fraction = fastTwoSum(head.high, head.low + toFloat(bottom, x) * 0x1p-126);
  Pair rest = twoProduct(fraction.high, x.k(0x1.921fb54442d18p+0));
  Num correction = rest.low + (fraction.high * 0x1.1a62633145c07p-54 + fraction.low * 0x1.921fb54442d18p+0);
  rest = fastTwoSum(rest.high, correction);
  // Small angles are their own rest; the product has too few bits for them.
  Mask small = x < 0.78;
  Mask finite = x < kInfinity;
  return {select(small, x, select(finite, rest.high, kNan)), select(small, 0.0, rest.low),
          select(small, quadrant.k(0), quadrant)};
}

struct SinCos {
  Num sin, cos;
  explicit SinCos(const Angle &angle) {
    Num x = angle.rest, z = x * x;
    Num p = polynomial(z, {-0.166666552, 0.00833218824, -0.000195180764},
                       {-0.1666666666666663, 0.0083333333333218407, -0.00019841269829358455, 2.7557313538456771e-06,
                        -2.5050734375064536e-08, 1.5895432176222593e-10});
    Num q = polynomial(z, {0.0416666456, -0.00138873095, 2.44323273e-05},
                       {0.041666666666666595, -0.001388888888887334, 2.4801587288999633e-05, -2.7557314216071094e-07,
                        2.0875705234373655e-09, -1.1358739517807954e-11});
    Num half = z * 0.5;
    Num head = 1.0 - half;
    Num lost = (1.0 - head) - half;
    if (x.isSingle()) {
      sin = fma(x * z, p, x);
      cos = head + fma(z * z, q, lost);
      return;
    }
    sin = x + fma(x * z, p, angle.low * head);
    cos = head + (fma(z * z, q, lost) - x * angle.low);
  }
};

Angle reduce(Num x) { return x.isSingle() ? reduceSingle(x) : reduceDouble(x); }

// The sine of an angle; a quadrant further, the cosine.
Num sinOf(const Angle &angle, Int quadrant) {
  SinCos of(angle);
  Num value = select(differs(quadrant & 1, 0), of.cos, of.sin);
  return fromBits(bits(value) ^ ((quadrant & 2) << (quadrant.bitWidth() - 2)));
}

} // namespace

Num sin(Num x) {
  Angle angle = reduce(abs(x));
  return flipSign(sinOf(angle, angle.quadrant), x);
}

Num cos(Num x) {
  Angle angle = reduce(abs(x));
  return sinOf(angle, angle.quadrant + 1);
}

Num tan(Num x) {
  Angle angle = reduce(abs(x));
  SinCos of(angle);
  Mask odd = differs(angle.quadrant & 1, 0);
  Num value = select(odd, -of.cos, of.sin) / select(odd, of.sin, of.cos);
  return flipSign(value, x);
}

} // namespace fathom::mathlowering
