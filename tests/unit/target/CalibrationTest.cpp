// Tests of the constants of cost models as data: their table, their text, and a machine's own.
#include "compiler/target/MachineFile.h"
#include "llvm/ADT/StringSet.h"
#include "gtest/gtest.h"

using namespace fathom;

namespace {

TEST(Calibration, HasAFieldForEveryConstant) {
  llvm::StringSet<> names;
  for (const CalibrationField &field : calibrationFields()) {
    EXPECT_TRUE(names.insert(field.name).second) << field.name.str();
    EXPECT_FALSE(field.meaning.empty()) << field.name.str();
    EXPECT_FALSE(calibrationSource(field.name).empty()) << field.name.str();
    EXPECT_EQ(findCalibrationField(field.name)->member, field.member);
    double value = Calibration::byDefault().*field.member;
    EXPECT_TRUE(value >= field.min && value <= field.max) << field.name.str();
  }
  EXPECT_EQ(calibrationFields().size() * sizeof(double), sizeof(Calibration));
  EXPECT_EQ(findCalibrationField("nothing"), nullptr);
}

TEST(Calibration, IsAVectorOfNumbersAndBack) {
  std::vector<double> values = valuesOf(Calibration::byDefault());
  ASSERT_EQ(values.size(), calibrationFields().size());
  // Each of them, by its place.
  for (auto [i, field] : llvm::enumerate(calibrationFields())) {
    std::vector<double> changed = values;
    changed[i] = values[i] == field.max ? field.min : field.max;
    Calibration calibration = llvm::cantFail(calibrationOf(changed));
    EXPECT_EQ(calibration.*field.member, changed[i]);
    EXPECT_EQ(valuesOf(calibration), changed);
  }
  values.pop_back();
  EXPECT_FALSE(llvm::toString(calibrationOf(values).takeError()).empty());
}

TEST(Calibration, RefusesWhatItDoesNotKnow) {
  Calibration calibration = Calibration::byDefault();
  EXPECT_NE(llvm::toString(setConstant(calibration, "task-begin", 1)).find("task-begin"), std::string::npos);
  EXPECT_EQ(llvm::toString(setConstant(calibration, "usable-capacity", 1.5)),
            "usable-capacity = 1.5 is outside [0.05, 1]");
  EXPECT_FALSE(llvm::toString(setConstant(calibration, "task-start", std::nan(""))).empty());
  EXPECT_EQ(valuesOf(calibration), valuesOf(Calibration::byDefault()));
}

TEST(Calibration, IsAMachinesOwnWhereItsDescriptionSaysSo) {
  for (const char *cpu : {"neoverse-n1", "sapphirerapids"}) {
    Target target = llvm::cantFail(parseTarget(cpu));
    EXPECT_EQ(printMachineFile(target).find("calibration"), std::string::npos);
    std::string text = "fathom-target: 1\ncpu: x\ncalibration: { task-start: 200, exposed-near: 0.123456789012345 }\n";
    llvm::cantFail(applyMachineFile(text, "x.yaml", target));
    EXPECT_EQ(target.calibration.taskStart, 200);
    EXPECT_EQ(target.calibration.exposedNear, 0.123456789012345);
    EXPECT_EQ(target.calibration.spreading, Calibration::byDefault().spreading);
    // What was printed says the same.
    Target again = llvm::cantFail(parseTarget(cpu));
    llvm::cantFail(applyMachineFile(printMachineFile(target), "x.yaml", again));
    EXPECT_EQ(valuesOf(again.calibration), valuesOf(target.calibration));
  }
}

TEST(Calibration, ConstantsOfADescriptionAreChecked) {
  auto problem = [](const char *constants) {
    Target target;
    std::string text = std::string("fathom-target: 1\ncpu: x\ncalibration: ") + constants + "\n";
    return llvm::toString(applyMachineFile(text, "x.yaml", target));
  };
  EXPECT_NE(problem("{ task-begin: 1 }").find("no constant of cost models is called 'task-begin'"), std::string::npos);
  EXPECT_NE(problem("{ exposed-near: 2 }").find("exposed-near = 2 is outside [0, 1]"), std::string::npos);
  EXPECT_NE(problem("{ exposed-near: often }").find("line 3"), std::string::npos);
  EXPECT_NE(problem("[ 1 ]").find("line 3"), std::string::npos);
}

} // namespace
