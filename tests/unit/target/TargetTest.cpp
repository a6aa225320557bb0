// Tests of how the host's features are put together.
#include "compiler/target/Target.h"

#include "runtime/CpuFeatures.h"
#include "llvm/ADT/STLExtras.h"
#include "gtest/gtest.h"

using namespace fathom;

namespace {

auto lacking(std::vector<llvm::StringRef> names) {
  return [=](llvm::StringRef name) { return llvm::is_contained(names, name); };
}

TEST(HostFeatures, TakesWhatWasDetected) {
  EXPECT_EQ(hostFeatures({{"neon", true}, {"avx", false}, {"aes", true}}, {}, lacking({})), "+aes,+neon,-avx");
}

TEST(HostFeatures, SwitchesOffWhatTheNameImpliesAndTheMachineLacks) {
  EXPECT_EQ(hostFeatures({{"neon", true}}, {"neon", "sve", "fullfp16"}, lacking({"sve", "fullfp16"})),
            "+neon,-fullfp16,-sve");
}

TEST(HostFeatures, LeavesAloneWhatNobodyReports) {
  // Tuning flags are features to LLVM too, and no machine reports them.
  EXPECT_EQ(hostFeatures({{"neon", true}}, {"neon", "use-postra-scheduler"}, lacking({"sve"})), "+neon");
}

TEST(HostFeatures, BelievesNoFeatureThatTheLoaderWouldMiss) {
  EXPECT_EQ(hostFeatures({{"bf16", true}, {"neon", true}}, {"bf16", "neon"}, lacking({"bf16"})), "+neon,-bf16");
}

TEST(HostFeatures, SwitchOffAfterWhatWouldSwitchOn) {
  std::string features = hostFeatures({{"sve2", true}}, {"sve2", "sve"}, lacking({"sve"}));
  EXPECT_EQ(features, "+sve2,-sve");
}

TEST(HostTarget, RequiresOnlyWhatTheLoaderFinds) {
  for (const std::string &name : llvm::cantFail(parseTarget("host")).required)
    EXPECT_EQ(cpuFeature(name.c_str()), Feature::Present) << name;
}

} // namespace
