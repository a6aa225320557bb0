// Every function against the C library in a wider type: the error in ulp, the values at the edges, the independence of
// the number of lanes, and that nothing is called.
#include "Jit.h"
#include "Reference.h"
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>
#include <random>

namespace fathom::mathtest {
namespace {

uint64_t seed() {
  static uint64_t value = [] {
    const char *text = std::getenv("FATHOM_TEST_SEED");
    uint64_t result = text ? std::strtoull(text, nullptr, 0) : 20240607;
    std::printf("seed %llu (FATHOM_TEST_SEED)\n", static_cast<unsigned long long>(result));
    return result;
  }();
  return value;
}

// Of the random arguments one in so many (FATHOM_TEST_PART), where not the numbers matter but the code that makes them.
size_t part() {
  const char *text = std::getenv("FATHOM_TEST_PART");
  return text ? std::max<size_t>(1, std::strtoull(text, nullptr, 0)) : 1;
}

template <typename T> using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;

template <typename T> std::vector<T> edges() {
  using Limits = std::numeric_limits<T>;
  std::vector<T> values = {
      0,        1,       2,      3, 7, 10, 100, 127, 128, T(0.5), T(1.5), T(2.5), T(0.49999997), T(0.3333333),
      T(1e-30), T(1e10), T(1e22)};
  for (T value : {Limits::denorm_min(), Limits::min() * T(0.75), Limits::min(), 1 - Limits::epsilon() / 2,
                  1 + Limits::epsilon(), Limits::max(), Limits::infinity(), Limits::quiet_NaN()})
    values.push_back(value);
  // Where fractions and odd numbers end, in f32 and f64.
  for (double value : {8388607.5, 8388609.0, 16777215.0, 16777216.0, 4503599627370495.5, 4503599627370497.0,
                       9007199254740991.0, 9007199254740993.0})
    values.push_back(static_cast<T>(value));
  // Where quadrants change and results overflow.
  for (double value :
       {M_PI, M_PI_2, M_PI_4, 2 * M_PI, M_LN2, M_E, 88.72284, 103.97208, 709.78271289338397, 745.13321910194122})
    values.push_back(static_cast<T>(value));
  for (size_t i = 0, count = values.size(); i < count; ++i)
    values.push_back(-values[i]);
  return values;
}

// Pairs or single arguments: all edges against all edges, then random ones: half from the function's own interval, half
// any bits.
template <typename T> void inputs(const Function &function, size_t random, std::vector<T> &a, std::vector<T> &b) {
  std::vector<T> special = edges<T>();
  for (T x : special)
    for (T y : function.operands == 1 ? std::vector<T>{0} : special)
      a.push_back(x), b.push_back(y);
  std::mt19937_64 generator(seed());
  bool ownInterval = sizeof(T) == 8 && function.highWide > 0;
  std::uniform_real_distribution<double> dense(ownInterval ? function.lowWide : function.low,
                                               ownInterval ? function.highWide : function.high);
  for (size_t i = 0; i < random; ++i) {
    bool anywhere = i % 2;
    auto draw = [&] {
      return anywhere ? std::bit_cast<T>(static_cast<Bits<T>>(generator())) : static_cast<T>(dense(generator));
    };
    a.push_back(draw());
    b.push_back(draw());
  }
  while (a.size() % 48)
    a.push_back(1), b.push_back(1);
}

// The distance from the reference in units of the last place of T there; infinite if the kinds differ.
template <typename T, typename Wide> double ulps(T got, Wide want) {
  using Limits = std::numeric_limits<T>;
  T rounded = static_cast<T>(want);
  if (std::isnan(rounded) || std::isnan(got))
    return std::isnan(rounded) && std::isnan(got) ? 0 : HUGE_VAL;
  if (got == rounded && std::isinf(got))
    return 0;
  if (got == 0 && rounded == 0 && std::signbit(got) != std::signbit(rounded))
    return HUGE_VAL;
  if (std::isinf(want))
    return HUGE_VAL;
  // Overflow at the last finite number is an error of a few ulp, not of kind.
  Wide value = std::isinf(got) ? std::copysign(std::ldexp(Wide(1), Limits::max_exponent), Wide(got)) : Wide(got);
  int exponent = want == 0 ? Limits::min_exponent - 1
                           : std::clamp(std::ilogb(want), Limits::min_exponent - 1, Limits::max_exponent - 1);
  return static_cast<double>(std::fabs(value - want) / std::ldexp(Wide(1), exponent - (Limits::digits - 1)));
}

template <typename T> auto reference(const Function &function, T x, T y) {
  if constexpr (sizeof(T) == 4)
    return function.forSingle(x, y);
  else
    return function.forDouble(x, y);
}

struct Worst {
  double error = 0;
  double x = 0, y = 0, got = 0, want = 0;
};

template <typename T>
Worst worst(const Function &function, const std::vector<T> &a, const std::vector<T> &b, const std::vector<T> &out,
            MathOptions options = {}) {
  double negligible = sizeof(T) == 8   ? function.negligibleWide
                      : options.strict ? function.negligibleStrict
                      : options.hasFma ? function.negligible
                                       : function.negligibleUnfused;
  Worst result;
  for (size_t i = 0; i < a.size(); ++i) {
    auto want = reference(function, a[i], b[i]);
    if (std::fabs(out[i] - want) <= negligible)
      continue;
    if (double error = ulps(out[i], want); error > result.error)
      result = {error, double(a[i]), double(b[i]), double(out[i]), double(want)};
  }
  return result;
}

template <typename T> void check(const Function &function, MathOptions options, double bound, const char *mode) {
  std::string element = sizeof(T) == 4 ? "f32" : "f64";
  std::vector<T> a, b;
  inputs(function, (sizeof(T) == 4 ? 400000 : 100000) / part(), a, b);
  std::vector<T> first;
  for (unsigned lanes : {1u, 3u, 16u}) {
    Kernel kernel = compile({function.op, function.operands, element, lanes, options});
    std::vector<T> out(a.size());
    kernel(a.data(), b.data(), nullptr, out.data(), a.size());
    if (lanes == 1) {
      first = out;
      continue;
    }
    for (size_t i = 0; i < a.size(); ++i)
      ASSERT_TRUE(std::bit_cast<Bits<T>>(out[i]) == std::bit_cast<Bits<T>>(first[i]) ||
                  (std::isnan(out[i]) && std::isnan(first[i])))
          << function.op << "(" << a[i] << ", " << b[i] << ") is " << first[i] << " alone and " << out[i] << " in "
          << lanes << " lanes";
  }
  Worst found = worst(function, a, b, first, options);
  std::printf("%-14s %s %-12s %7.3f ulp at (%a, %a): %.9g, not %.9g\n", function.op.c_str(), element.c_str(), mode,
              found.error, found.x, found.y, found.got, found.want);
  EXPECT_LE(found.error, bound) << function.op << " " << element << " " << mode << "(" << found.x << ", " << found.y
                                << ") is " << found.got << ", not " << found.want;
}

// A machine that has none of the instructions which the functions are built on.
constexpr MathOptions withoutInstructions = {.hasFma = false, .hasRounding = false, .hasMinMax = false};

class Accuracy : public testing::TestWithParam<Function> {};

TEST_P(Accuracy, SingleFast) { check<float>(GetParam(), {}, GetParam().fast, "fast"); }
TEST_P(Accuracy, SingleStrict) { check<float>(GetParam(), {.strict = true}, GetParam().strict, "strict"); }
TEST_P(Accuracy, SinglePortable) { check<float>(GetParam(), withoutInstructions, GetParam().fast, "portable"); }
TEST_P(Accuracy, Double) { check<double>(GetParam(), {}, GetParam().wide, "fast"); }
TEST_P(Accuracy, DoublePortable) { check<double>(GetParam(), withoutInstructions, GetParam().wide, "portable"); }

// Every n-th f32; FATHOM_MATH_STRIDE=1 tries them all, in minutes a function.
void sweep(const Function &function, MathOptions options, const char *mode) {
  if (function.operands != 1)
    GTEST_SKIP();
  const char *text = std::getenv("FATHOM_MATH_STRIDE");
  uint64_t stride = text ? std::max<uint64_t>(1, std::strtoull(text, nullptr, 0)) : 16411;
  Kernel kernel = compile({function.op, 1, "f32", 16, options});
  Worst found;
  std::vector<float> in(1 << 16), out(in.size());
  for (uint64_t next = 0; next <= UINT32_MAX;) {
    for (float &x : in) {
      x = std::bit_cast<float>(static_cast<uint32_t>(std::min<uint64_t>(next, UINT32_MAX)));
      next += stride;
    }
    kernel(in.data(), nullptr, nullptr, out.data(), in.size());
    if (Worst part = worst(function, in, in, out, options); part.error > found.error)
      found = part;
  }
  std::printf("%-14s f32 %s, sweep by %llu %7.3f ulp at %a\n", function.op.c_str(), mode,
              static_cast<unsigned long long>(stride), found.error, found.x);
  EXPECT_LE(found.error, function.fast) << function.op << "(" << found.x << ") is " << found.got << ", not "
                                        << found.want;
}

TEST_P(Accuracy, Sweep) { sweep(GetParam(), {}, "fast"); }
TEST_P(Accuracy, SweepPortable) { sweep(GetParam(), withoutInstructions, "portable"); }

TEST_P(Accuracy, CallsNothing) {
  const Function &function = GetParam();
  struct Case {
    Machine machine;
    MathOptions options;
  };
  const Case cases[] = {
      {{"aarch64-linux-gnu", "generic", ""}, {}},
      {{"x86_64-linux-gnu", "x86-64", ""}, withoutInstructions},
      {{"x86_64-linux-gnu", "x86-64-v2", ""}, {.hasFma = false, .hasMinMax = false}},
      {{"x86_64-linux-gnu", "x86-64-v3", ""}, {.hasMinMax = false}},
      {{"x86_64-linux-gnu", "x86-64-v4", ""}, {.hasMinMax = false}},
  };
  for (const Case &c : cases)
    for (const char *element : {"f32", "f64"})
      for (unsigned lanes : {1u, 3u, 16u})
        for (const std::string &name :
             undefinedSymbols({function.op, function.operands, element, lanes, c.options}, c.machine))
          ADD_FAILURE() << function.op << " on " << lanes << " lanes of " << element << " for " << c.machine.cpu
                        << " needs " << name;
}

// The check above sees what it should see.
TEST(Math, MissingInstructionsAreCalls) {
  Machine baseline{"x86_64-linux-gnu", "x86-64", ""};
  EXPECT_FALSE(undefinedSymbols({"math.floor", 1, "f32", 1, {}}, baseline).empty());
  EXPECT_FALSE(undefinedSymbols({"math.fma", 3, "f64", 3, {}}, baseline).empty());
  EXPECT_TRUE(undefinedSymbols({"math.fma", 3, "f64", 3, {.hasFma = false}}, baseline).empty());
}

// Powers whose exponent is large and whose base is near 1 need a logarithm of more bits than the type has.
template <typename T> void powersNearOne(double bound) {
  const Function &function =
      *std::find_if(functions().begin(), functions().end(), [](const Function &f) { return f.op == "math.powf"; });
  std::mt19937_64 generator(seed());
  std::uniform_real_distribution<double> exponent(-std::log2(std::numeric_limits<T>::max()) * 1.1,
                                                  std::log2(std::numeric_limits<T>::max()) * 1.01);
  std::uniform_real_distribution<double> scale(0, std::numeric_limits<T>::digits - 2);
  std::vector<T> a, b;
  for (int i = 0; i < 48000; ++i) {
    T x = static_cast<T>(1 + std::exp2(-scale(generator)) * (i % 2 ? 1 : -0.5));
    a.push_back(x);
    b.push_back(static_cast<T>(exponent(generator) / std::log2(x)));
  }
  std::vector<T> out(a.size());
  compile({"math.powf", 2, sizeof(T) == 4 ? "f32" : "f64", 16, {}})(a.data(), b.data(), nullptr, out.data(), a.size());
  Worst found = worst(function, a, b, out);
  std::printf("powers near one %zu bytes %.3f ulp at (%a, %a)\n", sizeof(T), found.error, found.x, found.y);
  EXPECT_LE(found.error, bound) << found.x << " to the " << found.y << " is " << found.got << ", not " << found.want;
}

TEST(Math, PowersNearOneSingle) { powersNearOne<float>(4); }
TEST(Math, PowersNearOneDouble) { powersNearOne<double>(4); }

// Without the instruction, strict f32 still rounds once; the others may round twice.
TEST(Math, PortableFma) {
  Kernel single = compile({"math.fma", 3, "f32", 16, {.strict = true, .hasFma = false}});
  std::mt19937_64 generator(seed());
  std::vector<float> in[3], out(48000);
  for (int i = 0; i < 48000; ++i) {
    float x = std::bit_cast<float>(static_cast<uint32_t>(generator())), y = static_cast<float>(generator() % 4096) / 64,
          z = -x * y;
    in[0].push_back(x);
    in[1].push_back(y);
    in[2].push_back(i % 3 == 0 ? z : i % 3 == 1 ? z * 0x1p-24f : static_cast<float>(generator() % 1000));
  }
  single(in[0].data(), in[1].data(), in[2].data(), out.data(), out.size());
  for (int i = 0; i < 48000; ++i) {
    float want = std::fma(in[0][i], in[1][i], in[2][i]);
    ASSERT_TRUE(out[i] == want || (std::isnan(out[i]) && std::isnan(want)))
        << in[0][i] << " * " << in[1][i] << " + " << in[2][i] << " is " << out[i] << ", not " << want;
  }
}

// The worst cases of the reduction modulo pi/2: the f32 and f64 numbers nearest to a multiple (Muller's book, and our
// own search).
TEST(Math, AnglesNearMultiplesOfPi) {
  for (const char *op : {"math.sin", "math.cos", "math.tan"}) {
    const Function &function =
        *std::find_if(functions().begin(), functions().end(), [&](const Function &f) { return f.op == op; });
    std::vector<double> wide = {0x1.6ac5b262ca1ffp+849, 0x1.921fb54442d18p+0, 0x1.921fb54442d18p+60,
                                6381956970095103.0 * 0x1p797};
    std::vector<float> narrow = {16367173.0f * 0x1p72f, 0x1.921fb6p0f, 0x1.921fb6p100f, 0x1.921fb6p20f, 13176795.0f};
    wide.resize(48, 1), narrow.resize(48, 1);
    std::vector<double> wideOut(48);
    std::vector<float> narrowOut(48);
    compile({op, 1, "f64", 16, {}})(wide.data(), nullptr, nullptr, wideOut.data(), 48);
    compile({op, 1, "f32", 16, {}})(narrow.data(), nullptr, nullptr, narrowOut.data(), 48);
    EXPECT_LE(worst(function, wide, wide, wideOut).error, 4) << op;
    EXPECT_LE(worst(function, narrow, narrow, narrowOut).error, 4) << op;
  }
}

INSTANTIATE_TEST_SUITE_P(Math, Accuracy, testing::ValuesIn(functions()),
                         [](const testing::TestParamInfo<Function> &info) {
                           std::string name = info.param.op.substr(info.param.op.find('.') + 1);
                           bool isFast = info.param.op.starts_with("fast ");
                           std::replace(name.begin(), name.end(), ' ', '_');
                           return isFast && !name.starts_with("fast") ? "fast_" + name : name;
                         });

} // namespace
} // namespace fathom::mathtest
