// Numbers of a byte or less against their definitions: a sign, an exponent and a fraction each.
#include "tools/fathom/run/SmallNumbers.h"

#include "runtime/fathom_rt.h"
#include <cmath>
#include <gtest/gtest.h>

namespace fathom {
namespace {

struct Format {
  int32_t dtype;
  int exponent, fraction, bias; // bits, bits, and what the exponent is above its value
  bool hasInfinity, hasNegativeZero;
  int nans; // how many magnitudes at the end are no number; the formats without a negative zero have its code instead
};

constexpr Format formats[] = {
    {FATHOM_F8E4M3FN, 4, 3, 7, false, true, 1}, {FATHOM_F8E4M3FNUZ, 4, 3, 8, false, false, 0},
    {FATHOM_F8E5M2, 5, 2, 15, true, true, 3},   {FATHOM_F8E5M2FNUZ, 5, 2, 16, false, false, 0},
    {FATHOM_F4E2M1, 2, 1, 1, false, true, 0},
};

// NaN for what is no number.
double expected(const Format &f, unsigned code) {
  int bits = f.exponent + f.fraction;
  unsigned magnitudes = 1u << bits, magnitude = code % magnitudes;
  bool isNegative = code / magnitudes % 2;
  if (isNegative && !magnitude && !f.hasNegativeZero)
    return NAN;
  if (magnitude + f.nans >= magnitudes)
    return NAN;
  double sign = isNegative ? -1 : 1;
  if (f.hasInfinity && magnitude + f.nans + 1 == magnitudes)
    return sign * INFINITY;
  unsigned exponent = magnitude >> f.fraction, fraction = magnitude % (1u << f.fraction);
  double significand = (exponent ? 1 : 0) + std::ldexp(fraction, -f.fraction);
  return sign * std::ldexp(significand, int(exponent ? exponent : 1) - f.bias);
}

TEST(SmallNumbersTest, EveryCodeOfAFloat) {
  for (const Format &f : formats)
    for (unsigned code = 0; code < (2u << (f.exponent + f.fraction)); ++code) {
      double want = expected(f, code), got = decodeSmall(f.dtype, uint8_t(code));
      if (std::isnan(want))
        EXPECT_TRUE(std::isnan(got)) << f.dtype << " " << code;
      else
        EXPECT_TRUE(want == got && std::signbit(want) == std::signbit(got)) << f.dtype << " " << code << " " << got;
    }
}

TEST(SmallNumbersTest, EveryExponent) {
  for (int code = 0; code < 255; ++code)
    EXPECT_EQ(decodeSmall(FATHOM_F8E8M0, uint8_t(code)), std::ldexp(1.0, code - 127));
  EXPECT_TRUE(std::isnan(decodeSmall(FATHOM_F8E8M0, 255)));
}

// What is beyond their bits is nothing.
TEST(SmallNumbersTest, EveryInteger) {
  for (int byte = 0; byte < 256; ++byte) {
    EXPECT_EQ(decodeSmall(FATHOM_U4, uint8_t(byte)), byte % 16);
    EXPECT_EQ(decodeSmall(FATHOM_I4, uint8_t(byte)), byte % 16 - (byte % 16 > 7 ? 16 : 0));
    EXPECT_EQ(decodeSmall(FATHOM_U2, uint8_t(byte)), byte % 4);
    EXPECT_EQ(decodeSmall(FATHOM_I2, uint8_t(byte)), byte % 4 - (byte % 4 > 1 ? 4 : 0));
  }
}

// The nearest of all numbers of the type, as far as it has numbers that large.
TEST(SmallNumbersTest, DrawnFloatsAreNearest) {
  for (const Format &f : formats)
    for (double normal = -3; normal <= 3; normal += 0.0371) {
      double got = decodeSmall(f.dtype, drawSmall(f.dtype, normal, 0));
      for (unsigned code = 0; code < (2u << (f.exponent + f.fraction)); ++code)
        if (double other = expected(f, code); !std::isnan(other))
          EXPECT_LE(std::abs(got - normal), std::abs(other - normal)) << f.dtype << " " << normal;
    }
}

TEST(SmallNumbersTest, DrawnExponentsAreNumbers) {
  for (double normal : {0.0, -0.0, 1e-30, -0.75, 1.0, 2.9}) {
    double got = decodeSmall(FATHOM_F8E8M0, drawSmall(FATHOM_F8E8M0, normal, 0));
    double size = std::max(std::abs(normal), 1e-3);
    EXPECT_TRUE(got >= size / 2 && got <= size * 2) << normal << " " << got;
  }
}

TEST(SmallNumbersTest, DrawnIntegersAreTheBits) {
  for (uint64_t bits = 0; bits < 64; ++bits) {
    EXPECT_EQ(drawSmall(FATHOM_I4, 1, bits), bits % 16);
    EXPECT_EQ(drawSmall(FATHOM_U4, 1, bits), bits % 16);
    EXPECT_EQ(drawSmall(FATHOM_I2, 1, bits), bits % 4);
    EXPECT_EQ(drawSmall(FATHOM_U2, 1, bits), bits % 4);
  }
}

TEST(SmallNumbersTest, Kinds) {
  for (int32_t dtype : {FATHOM_F8E4M3FN, FATHOM_F8E8M0, FATHOM_F4E2M1, FATHOM_U4, FATHOM_I4, FATHOM_U2, FATHOM_I2})
    EXPECT_TRUE(isSmallDtype(dtype));
  for (int32_t dtype : {FATHOM_F32, FATHOM_F16, FATHOM_I8, FATHOM_U8, FATHOM_BOOL})
    EXPECT_FALSE(isSmallDtype(dtype));
}

} // namespace
} // namespace fathom
