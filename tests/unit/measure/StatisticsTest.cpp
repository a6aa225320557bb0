// Tests of what is told of times, and of the numbers that kernels are given.
#include "tools/fathom-measure/Statistics.h"
#include "runtime/abi.h"
#include "tools/fathom-measure/Data.h"

#include "gtest/gtest.h"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>
#include <vector>

using namespace fathom::measure;

namespace {

TEST(Statistics, AreThoseOfTheTimes) {
  Summary s = summarize({5, 1, 2, 4, 3});
  EXPECT_EQ(s.median, 3);
  EXPECT_EQ(s.minimum, 1);
  EXPECT_EQ(s.lowerQuartile, 2);
  EXPECT_EQ(s.upperQuartile, 4);
  EXPECT_EQ(s.runs, 5);
  EXPECT_EQ(s.outliers, 0);
  EXPECT_EQ(summarize({4, 1}).median, 2.5);
  EXPECT_EQ(summarize({7}).upperQuartile, 7);
}

TEST(Statistics, CountOutliersOnBothSides) {
  // The median absolute deviation is 1, so that up to 4.4 is near.
  EXPECT_EQ(summarize({10, 11, 9, 10, 11, 9, 14, 6}).outliers, 0);
  EXPECT_EQ(summarize({10, 11, 9, 10, 11, 9, 15, 5}).outliers, 2);
  EXPECT_EQ(summarize({10, 10, 10, 10, 11}).outliers, 1);
}

TEST(Statistics, KnowNothingOfTheMedianOfFewTimes) {
  EXPECT_TRUE(std::isinf(medianInterval({1, 1, 1, 1, 1}).high));
  Interval six = medianInterval({6, 5, 4, 3, 2, 1});
  EXPECT_EQ(six.low, 1);
  EXPECT_EQ(six.high, 6);
}

TEST(Statistics, IntervalHasTheMedianAsOftenAsItSays) {
  unsigned seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  std::exponential_distribution<double> distribution;
  constexpr int tries = 2000;
  for (int count : {8, 25, 100}) {
    int inside = 0;
    for (int i = 0; i < tries; ++i) {
      std::vector<double> times(static_cast<size_t>(count));
      for (double &time : times)
        time = distribution(random);
      Interval interval = medianInterval(times);
      inside += interval.low <= std::log(2) && std::log(2) <= interval.high;
    }
    EXPECT_GT(inside, tries * 0.93) << count;
  }
  std::vector<double> many(10000);
  std::iota(many.begin(), many.end(), 0);
  EXPECT_LT(medianInterval(many).high - medianInterval(many).low, 0.04 * 5000);
}

class DataOf : public testing::TestWithParam<fathom_abi_dtype> {};

TEST_P(DataOf, DiffersWhereOneElementDoes) {
  std::vector<char> a(4096), b(4096), other(4096);
  fill(a.data(), 4096, GetParam(), 1);
  fill(b.data(), 4096, GetParam(), 1);
  EXPECT_EQ(a, b);
  EXPECT_EQ(difference(a.data(), b.data(), 4096, GetParam(), 1e-3), "");
  // The sign of the last element, and what makes a number of the 0 of an integer.
  b.back() ^= char(0x80);
  EXPECT_NE(difference(a.data(), b.data(), 4096, GetParam(), 1e-3), "");
  fill(other.data(), 4096, GetParam(), 2);
  bool isIndex = GetParam() == FATHOM_ABI_I64;
  EXPECT_EQ(std::all_of(a.begin(), a.end(), [](char c) { return c == 0; }), isIndex);
  EXPECT_EQ(other == a, isIndex);
}

INSTANTIATE_TEST_SUITE_P(Data, DataOf,
                         testing::Values(FATHOM_ABI_F32, FATHOM_ABI_F64, FATHOM_ABI_F16, FATHOM_ABI_BF16, FATHOM_ABI_U8,
                                         FATHOM_ABI_I64));

TEST(Data, IsNormal) {
  std::vector<float> values(100000);
  fill(reinterpret_cast<char *>(values.data()), int64_t(values.size() * sizeof(float)), FATHOM_ABI_F32, 3);
  double sum = 0, squares = 0;
  for (float value : values)
    sum += value, squares += double(value) * value;
  EXPECT_NEAR(sum / double(values.size()), 0, 0.02);
  EXPECT_NEAR(squares / double(values.size()), 1, 0.02);
}

TEST(Data, MayDifferByTheTolerance) {
  auto compare = [](std::vector<float> expected, std::vector<float> found, double tolerance) {
    return difference(reinterpret_cast<char *>(expected.data()), reinterpret_cast<char *>(found.data()),
                      int64_t(expected.size() * sizeof(float)), FATHOM_ABI_F32, tolerance);
  };
  EXPECT_EQ(compare({1, -1, 1, 0}, {1.001f, -1, 1, 0.0005f}, 0.001), "");
  EXPECT_EQ(compare({1, -1, 1, 0}, {1, -1, 1, 0.01f}, 0.001), "element 3 is 0.01 and not 0");
  EXPECT_EQ(compare({NAN, INFINITY}, {NAN, INFINITY}, 0.001), "");
  EXPECT_EQ(compare({1, 1}, {1, NAN}, 0.001), "element 1 is nan and not 1");
  EXPECT_EQ(compare({1, INFINITY}, {1, -INFINITY}, 0.001), "element 1 is -inf and not inf");
}

} // namespace
