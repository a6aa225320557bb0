// Inverse trigonometric functions. The polynomials are minimax fits of our own.
#include "compiler/codegen/common/MathFunctions.h"

namespace fathom::mathlowering {

namespace {

constexpr double kPi = 3.14159265358979323846;
constexpr double kPiQuarter = kPi / 4;
// What the rounded constant lacks.
double piQuarterLow(Num x) { return pick(x, -0x1.777a5cp-26, 0x1.1a62633145c07p-55); }

// asin(s) for s^2 = z <= 1/4.
Num asinCore(Num s, Num z) {
  Num p = polynomial(z, {0.166667521, 0.0749530643, 0.0454697832, 0.0241806563, 0.0421667136},
                     {0.1666666666666676, 0.074999999999708147, 0.044642857174639713, 0.030381942705074803,
                      0.022372215092989717, 0.017351609704092844, 0.013980852424829599, 0.011398621685870126,
                      0.010782029341812443, 0.0036991911945847005, 0.021726143085523401, -0.021027015691995436,
                      0.032646983963722342});
  return fma(s * z, p, s);
}

// atan(z) for |z| <= sqrt(2) - 1.
Num atanCore(Num z) {
  Num square = z * z;
  Num p = polynomial(square, {-0.333333164, 0.199985266, -0.142443463, 0.105987519, -0.0608882569},
                     {-0.33333333333333326, 0.19999999999997098, -0.14285714285317072, 0.11111111083804968,
                      -0.090909079885146488, 0.076922792702692575, -0.066661758101368151, 0.058765282705310291,
                      -0.052152607378208274, 0.044908968026861534, -0.033182802384527352, 0.014901786923788263});
  return fma(z * square, p, z);
}

// quarters * pi/4 + x.
Num plusQuarters(Num quarters, Num x) { return fma(quarters, kPiQuarter, fma(quarters, piQuarterLow(x), x)); }

// Where |x| > 1/2, asin(|x|) = pi/2 - 2 asin(sqrt((1 - |x|)/2)).
struct Arc {
  Mask large;
  Num core; // of |x| or of the root
  explicit Arc(Num magnitude) {
    large = magnitude > 0.5;
    Num z = select(large, (1.0 - magnitude) * 0.5, magnitude * magnitude);
    core = asinCore(select(large, sqrt(z), magnitude), z);
  }
};

} // namespace

Num asin(Num x) {
  Num magnitude = abs(x);
  Arc arc(magnitude);
  return copySign(select(arc.large, plusQuarters(x.k(2.0), arc.core * -2.0), arc.core), x);
}

Num acos(Num x) {
  Arc arc(abs(x));
  Num doubled = arc.core * 2.0;
  Num large = select(x < 0.0, plusQuarters(x.k(4.0), -doubled), doubled);
  return select(arc.large, large, plusQuarters(x.k(2.0), -flipSign(arc.core, x)));
}

Num atan(Num x) {
  Num magnitude = abs(x);
  // (|x| - 1)/(|x| + 1) is a quarter of pi further, -1/|x| two.
  Mask middle = magnitude > 0.414213562, large = magnitude > 2.41421356;
  Num numerator = select(large, -1.0, select(middle, magnitude - 1.0, magnitude));
  Num denominator = select(large, magnitude, select(middle, magnitude + 1.0, 1.0));
  Num quarters = select(large, 2.0, choose(middle, x, 1.0, 0.0));
  return copySign(plusQuarters(quarters, atanCore(numerator / denominator)), x);
}

Num atan2(Num y, Num x) {
  Num rise = abs(y), run = abs(x);
  Mask steep = rise > run;
  Num least = select(steep, run, rise), most = select(steep, rise, run);
  // The sum below must not overflow, nor the product vanish; what a tiny `least` loses here is nothing beside such a
  // `most`.
  Num scale = select(most > 0x1p120, 0.25, choose(most < 0x1p-100, x, 0x1p60, 1.0));
  least = least * scale;
  most = most * scale;
  Mask middle = (least >= most * 0.414213562) & (most > 0.0);
  Num z = select(middle, least - most, least) / select(middle, least + most, most);
  // Two zeros and two infinities count as equal.
  z = select(equal(least, most), 0.0, z);
  Num quarters = choose(middle, x, 1.0, 0.0);
  Num angle = atanCore(z);
  // Reflected at the diagonal, then at the vertical.
  quarters = select(steep, 2.0 - quarters, quarters);
  angle = select(steep, -angle, angle);
  Mask left = bits(x) < 0;
  quarters = select(left, 4.0 - quarters, quarters);
  angle = select(left, -angle, angle);
  return copySign(plusQuarters(quarters, angle), y);
}

} // namespace fathom::mathlowering
