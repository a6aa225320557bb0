// Coefficients of scores: those that are built in, and their text.
#include "compiler/analysis/Score.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fathom {
namespace {

using testing::HasSubstr;

TEST(Coefficients, OfPureLatenciesCountCyclesAndMovementOnce) {
  const Features &values = pureLatencies().values;
  for (Feature feature :
       {Feature::Busy, Feature::Waits, Feature::Hidden, Feature::Starts, Feature::Near, Feature::Far, Feature::Memory})
    EXPECT_EQ(values[unsigned(feature)], 1);
  // The instructions are in the cycles already.
  for (Feature feature : {Feature::MultiplyAdds, Feature::VectorLoads, Feature::VectorStores, Feature::Others})
    EXPECT_EQ(values[unsigned(feature)], 0);
  EXPECT_FALSE(pureLatencies().nanoseconds);
}

TEST(Coefficients, AreThereForEveryTargetWithASource) {
  for (const char *name : {"neoverse-v1", "x86-64-v3"}) {
    Target target = llvm::cantFail(parseTarget(name));
    EXPECT_FALSE(coefficientsFor(target).source.empty());
    // Machines of a family have clocks of their own.
    EXPECT_FALSE(coefficientsFor(target).nanoseconds);
    EXPECT_GT(score({1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, coefficientsFor(target)), 0);
  }
}

TEST(Coefficients, ScoreIsASum) {
  Coefficients coefficients;
  coefficients.values[unsigned(Feature::Busy)] = 2;
  coefficients.values[unsigned(Feature::Memory)] = 0.5;
  Features features{};
  features[unsigned(Feature::Busy)] = 10, features[unsigned(Feature::Memory)] = 8;
  features[unsigned(Feature::Tasks)] = 1000;
  EXPECT_EQ(score(features, coefficients), 24);
}

TEST(MachineCalibration, IsTheSameAfterPrintingAndReading) {
  MachineCalibration calibration;
  calibration.target = "x86_64-unknown-linux-gnu:sapphirerapids";
  calibration.score.emplace().source = "a test: 3 kernels";
  calibration.score->values[unsigned(Feature::Near)] = 1.0 / 3;
  calibration.score->nanoseconds = 0.37;
  calibration.constants["task-start"] = 120.5;
  std::string text = printCalibration(calibration);
  MachineCalibration read = llvm::cantFail(parseCalibration(text, "a.yaml"));
  EXPECT_EQ(read.target, calibration.target);
  EXPECT_EQ(read.score->source, calibration.score->source);
  EXPECT_EQ(read.score->values, calibration.score->values);
  EXPECT_EQ(read.score->nanoseconds, calibration.score->nanoseconds);
  EXPECT_EQ(read.constants, calibration.constants);
  EXPECT_EQ(printCalibration(read), text);
}

class BadCalibration : public testing::TestWithParam<std::pair<const char *, const char *>> {};

TEST_P(BadCalibration, IsRefusedWithAReason) {
  auto [text, reason] = GetParam();
  auto read = parseCalibration(text, "bad.yaml");
  ASSERT_FALSE(bool(read));
  std::string message = llvm::toString(read.takeError());
  EXPECT_THAT(message, HasSubstr("bad.yaml"));
  EXPECT_THAT(message, HasSubstr(reason));
}

INSTANTIATE_TEST_SUITE_P(
    All, BadCalibration,
    testing::Values(
        std::pair("", "nothing in it"), std::pair("fathom-calibration: 2\ntarget: a", "version 2"),
        std::pair("fathom-calibration: 1", "target"),
        std::pair("fathom-calibration: 1\ntarget: a\nscore: {source: b, coefficients: {speed: 1}}", "'speed'"),
        std::pair("fathom-calibration: 1\ntarget: a\nscore: {source: b, coefficients: {near: -1}}", "'near'"),
        std::pair("fathom-calibration: 1\ntarget: a\nscore: {source: b, coefficients: {near: nan}}", "'near'"),
        std::pair("fathom-calibration: 1\ntarget: a\nscore: {source: b, coefficients: {}}", "all coefficients are 0"),
        std::pair("fathom-calibration: 1\ntarget: a\nscore: {source: b, nanoseconds: 0, coefficients: {near: 1}}",
                  "nanoseconds"),
        std::pair("fathom-calibration: 1\ntarget: a\nconstants: {nothing: 1}", "'nothing'"),
        std::pair("fathom-calibration: 1\ntarget: a\nconstants: {usable-capacity: 7}", "outside"),
        std::pair("fathom-calibration: 1\ntarget: a\nother: 1", "other")));

} // namespace
} // namespace fathom
