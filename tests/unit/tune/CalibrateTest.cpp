// Samples as text, and fits to samples that are made up, so that what should come out is known.
#include "compiler/tune/calibrate/FitDraft.h"

#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <random>

namespace fathom::tune {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(NonnegativeLeastSquares, SolvesWhatHasASolution) {
  std::vector<std::vector<double>> rows{{1, 2}, {3, 1}, {0, 5}};
  EXPECT_THAT(nonnegativeLeastSquares(rows, {8, 9, 15}), ElementsAre(DoubleNear(2, 1e-6), DoubleNear(3, 1e-6)));
}

TEST(NonnegativeLeastSquares, LeavesOutWhatWouldBeNegative) {
  // Without the bound it is (2, -1); with it the first alone has its own least squares: 3/2.
  std::vector<std::vector<double>> rows{{1, 0}, {1, 1}};
  EXPECT_THAT(nonnegativeLeastSquares(rows, {2, 1}), ElementsAre(DoubleNear(1.5, 1e-6), 0));
}

TEST(NonnegativeLeastSquares, OfNothingIsNothing) {
  EXPECT_TRUE(nonnegativeLeastSquares({}, {}).empty());
  EXPECT_THAT(nonnegativeLeastSquares({{0.0}, {0.0}}, {1, 1}), ElementsAre(0));
}

// Kernels whose times are a sum of some of their features, and of noise.
std::vector<Sample> madeUp(double noise) {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> anything(1, 1000), factor(-noise, noise);
  std::vector<Sample> samples;
  for (int kernel = 0; kernel < 4; ++kernel)
    for (int i = 0; i < 40; ++i) {
      Sample &sample = samples.emplace_back();
      sample.kernel = sample.name = "kernel" + std::to_string(kernel), sample.kernelClass = "contract";
      sample.schedule.set("tile_m", i + 1);
      for (double &feature : sample.features)
        feature = anything(random) * (kernel + 1);
      auto of = [&](Feature feature) { return sample.features[unsigned(feature)]; };
      sample.nanoseconds = 0.5 * (2 * of(Feature::Busy) + of(Feature::Memory)) * std::exp(factor(random));
      sample.draft = anything(random);
    }
  return samples;
}

TEST(FitCoefficients, FindsWhatSamplesWereMadeOf) {
  Coefficients fitted = fitCoefficients(madeUp(0));
  double unit = *fitted.nanoseconds;
  for (unsigned i = 0; i < featureCount; ++i) {
    double wanted = Feature(i) == Feature::Busy ? 1 : Feature(i) == Feature::Memory ? 0.5 : 0;
    EXPECT_NEAR(fitted.values[i] * unit, wanted, 0.01) << featureNames[i].str();
  }
}

TEST(FitCoefficients, GivesTimesAndNotOnlyAnOrder) {
  std::vector<Sample> samples = madeUp(0.1);
  Coefficients fitted = fitCoefficients(samples);
  double logs = 0;
  for (const Sample &sample : samples)
    logs += std::abs(std::log(score(sample.features, fitted) * *fitted.nanoseconds / sample.nanoseconds));
  EXPECT_LT(logs / double(samples.size()), 0.1);
}

TEST(FitCoefficients, LeavesOutFeatures) {
  Coefficients fitted = fitCoefficients(madeUp(0), [](Feature feature) { return feature != Feature::Memory; });
  EXPECT_EQ(fitted.values[unsigned(Feature::Memory)], 0);
  EXPECT_GT(fitted.values[unsigned(Feature::Busy)], 0);
}

TEST(FitCoefficients, OfNothingOrOfZerosHasNoTime) {
  EXPECT_FALSE(fitCoefficients({}).nanoseconds);
  std::vector<Sample> samples = madeUp(0);
  for (Sample &sample : samples)
    sample.features = {};
  EXPECT_FALSE(fitCoefficients(samples).nanoseconds);
}

TEST(CrossValidate, FitsToOtherKernels) {
  std::vector<Validation> validations = crossValidate(madeUp(0.02));
  ASSERT_EQ(validations.size(), 4u);
  for (const Validation &one : validations) {
    EXPECT_EQ(one.fitted.samples, 40u);
    EXPECT_GT(one.fitted.spearman, 0.99);
    EXPECT_LT(one.fitted.factor, 1.05);
    EXPECT_GT(one.fitted.first, 0.9);
    // Drafts are made up by themselves.
    EXPECT_LT(std::abs(one.draft.spearman), 0.6);
  }
  std::vector<Sample> one = madeUp(0);
  one.resize(40);
  EXPECT_TRUE(crossValidate(one).empty());
}

TEST(Ranking, TellsOrderAndFirst) {
  Ranking same = rank({1, 2, 3, 4}, {10, 20, 30, 40});
  EXPECT_DOUBLE_EQ(same.spearman, 1);
  EXPECT_DOUBLE_EQ(same.first, 1);
  EXPECT_NEAR(same.factor, 1, 1e-9);
  Ranking reverse = rank({4, 3, 2, 1}, {10, 20, 30, 40});
  EXPECT_DOUBLE_EQ(reverse.spearman, -1);
  EXPECT_DOUBLE_EQ(reverse.first, 0.25);
  // Equal predictions share a rank: they tell nothing.
  EXPECT_EQ(rank({1, 1, 1}, {1, 2, 3}).spearman, 0);
}

// A draft that says what times are made of, with two constants; others have no part.
std::vector<double> draftOf(llvm::ArrayRef<Sample> samples, const Calibration &constants) {
  std::vector<double> cycles;
  for (const Sample &sample : samples)
    cycles.push_back(constants.taskStart * sample.features[unsigned(Feature::Tasks)] +
                     constants.producerOp * 100 * sample.features[unsigned(Feature::Busy)]);
  return cycles;
}

std::vector<Sample> drafted(double taskStart, double producerOp) {
  std::vector<Sample> samples = madeUp(0);
  Calibration constants = Calibration::byDefault();
  constants.taskStart = taskStart, constants.producerOp = producerOp;
  for (auto [sample, cycles] : llvm::zip(samples, draftOf(samples, constants)))
    sample.nanoseconds = cycles;
  return samples;
}

TEST(FitDraft, FindsTheConstantsThatCount) {
  std::vector<Sample> samples = drafted(150, 0.55);
  auto model = [&](const Calibration &constants) { return draftOf(samples, constants); };
  std::vector<const CalibrationField *> found = constantsThatCount(Calibration::byDefault(), model);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0]->name, "task-start");
  EXPECT_EQ(found[1]->name, "producer-op");
}

TEST(FitDraft, MovesThemToWhatWasMeasured) {
  std::vector<Sample> samples = drafted(450, 0.3);
  auto model = [&](const Calibration &constants) { return draftOf(samples, constants); };
  Calibration fitted = fitDraft(samples, Calibration::byDefault(), model);
  // What counts is their ratio, and a little how far they are from where they were.
  EXPECT_NEAR(std::log(fitted.taskStart / fitted.producerOp), std::log(450 / 0.3), 0.2);
  EXPECT_EQ(fitted.spreading, Calibration::byDefault().spreading);
}

TEST(FitDraft, LeavesRightOnesAsTheyAre) {
  Calibration start = Calibration::byDefault();
  std::vector<Sample> samples = drafted(start.taskStart, start.producerOp);
  Calibration fitted = fitDraft(samples, start, [&](const Calibration &c) { return draftOf(samples, c); });
  EXPECT_EQ(valuesOf(fitted), valuesOf(start));
}

TEST(FitDraft, IsJudgedByKernelsThatItHasNotSeen) {
  std::vector<Sample> samples = drafted(450, 0.3);
  auto model = [&](const Calibration &constants) { return draftOf(samples, constants); };
  std::vector<DraftValidation> validations = crossValidateDraft(samples, Calibration::byDefault(), model);
  ASSERT_EQ(validations.size(), 4u);
  for (const DraftValidation &one : validations) {
    EXPECT_EQ(one.fitted.samples, 40u);
    EXPECT_LT(one.fitted.factor, one.before.factor);
    EXPECT_GT(one.fitted.spearman, one.before.spearman);
  }
}

std::string textOf(llvm::ArrayRef<Sample> samples) {
  SampleFile file{"x86_64-unknown-linux-gnu:sapphirerapids", 2, {}};
  std::string text = headOf(file);
  for (const Sample &sample : samples)
    text += lineOf(sample);
  return text;
}

TEST(Samples, AreTheSameAfterPrintingAndReading) {
  std::vector<Sample> samples = madeUp(0.1);
  samples[0].name = "a \"name\"\n";
  samples[0].workingSets = {1, 2.5, 0, 1e9};
  std::string text = textOf(samples);
  SampleFile read = llvm::cantFail(parseSamples(text, "a.jsonl"));
  EXPECT_EQ(read.target, "x86_64-unknown-linux-gnu:sapphirerapids");
  EXPECT_EQ(read.threads, 2);
  EXPECT_EQ(textOf(read.samples), text);
  EXPECT_TRUE(read.has(samples[3].kernel, samples[3].schedule));
  EXPECT_FALSE(read.has("other", samples[3].schedule));
}

TEST(Samples, OfARunThatWasKilledAreReadWithoutTheLastPiece) {
  std::string text = textOf(madeUp(0.1));
  SampleFile read = llvm::cantFail(parseSamples(llvm::StringRef(text).drop_back(20), "a.jsonl"));
  EXPECT_EQ(read.samples.size(), madeUp(0.1).size() - 1);
}

TEST(Samples, ThatAreWrongAreNamedWithTheirLine) {
  std::string good = textOf(madeUp(0.1));
  auto with = [&](llvm::StringRef from, llvm::StringRef to) {
    std::string text = good;
    size_t at = text.find(from);
    return at == std::string::npos ? std::string() : text.replace(at, from.size(), to);
  };
  std::pair<std::string, const char *> cases[] = {
      {"", "nothing in it"},
      {"hello\n", "line 1"},
      {"{}\n", "fathom-samples"},
      {with("\"fathom-samples\":1", "\"fathom-samples\":2"), "fathom-samples"},
      {with("\"class\":\"contract\",", ""), "'class'"},
      {with("\"nanoseconds\":", "\"nanoseconds\":-"), "'nanoseconds'"},
      {with("\"busy\":", "\"busy\":\"many\",\"c\":"), "'busy'"},
      {with("[\"tile_m\",1]", "[\"tile_m\"]"), "'schedule'"},
      {with("\"working_sets\":[0", "\"working_sets\":[0,0"), "'working_sets'"},
      {std::string(100000, '[') + "\n", "too deeply"},
  };
  for (const auto &[text, reason] : cases) {
    auto read = parseSamples(text, "bad.jsonl");
    ASSERT_FALSE(bool(read)) << reason;
    std::string message = llvm::toString(read.takeError());
    EXPECT_THAT(message, HasSubstr(reason));
    EXPECT_THAT(message, HasSubstr("bad.jsonl"));
  }
}

} // namespace
} // namespace fathom::tune
