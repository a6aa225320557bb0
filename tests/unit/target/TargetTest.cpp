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

static std::vector<int64_t> cacheBytes(std::vector<CacheLevel> described, llvm::ArrayRef<int64_t> found) {
  Target target;
  target.caches = std::move(described);
  setCacheBytes(target, found);
  std::vector<int64_t> bytes;
  for (const CacheLevel &level : target.caches)
    bytes.push_back(level.bytes);
  return bytes;
}

TEST(HostTarget, TakesTheSystemsCaches) {
  std::vector<CacheLevel> described{{32 << 10, 64}, {1 << 20, 32}, {32 << 20, 8}};
  auto bytes = [](int64_t first, int64_t second, int64_t third) { return std::vector<int64_t>{first, second, third}; };
  EXPECT_EQ(cacheBytes(described, {48 << 10, 2 << 20, 16 << 20}), bytes(48 << 10, 2 << 20, 16 << 20));
  // A core cannot use all of what hundreds share.
  EXPECT_EQ(cacheBytes(described, {48 << 10, 2 << 20, 480 << 20}), bytes(48 << 10, 2 << 20, 32 << 20));
  EXPECT_EQ(cacheBytes(described, {48 << 10}), bytes(48 << 10, 1 << 20, 32 << 20));
  EXPECT_EQ(cacheBytes(described, {48 << 10, 2 << 20, 16 << 20, 64 << 20}), bytes(48 << 10, 2 << 20, 16 << 20));
}

TEST(HostTarget, RequiresOnlyWhatTheLoaderFinds) {
  for (const std::string &name : llvm::cantFail(parseTarget("host")).required)
    EXPECT_EQ(cpuFeature(name.c_str()), Feature::Present) << name;
}

TEST(ParseTarget, TakesLinuxOfBothArchitectures) {
  for (const char *text : {"neoverse-n1", "aarch64:neoverse-n1", "arm64:neoverse-n1", "aarch64-linux-musl:neoverse-n1",
                           "aarch64-unknown-linux-gnu:neoverse-n1"})
    EXPECT_EQ(llvm::cantFail(parseTarget(text)).spelling(), "aarch64-unknown-linux-gnu:neoverse-n1") << text;
  for (const char *text : {"x86-64-v3", "x86_64:x86-64-v3", "amd64:x86-64-v3", "x86_64-linux-gnu:x86-64-v3"})
    EXPECT_EQ(llvm::cantFail(parseTarget(text)).spelling(), "x86_64-unknown-linux-gnu:x86-64-v3") << text;
}

void expectRefused(const char *text, const char *why) {
  llvm::Expected<Target> target = parseTarget(text);
  ASSERT_FALSE(bool(target)) << text;
  EXPECT_NE(llvm::toString(target.takeError()).find(why), std::string::npos) << text;
}

TEST(ParseTarget, RefusesOtherSystems) {
  for (const char *text : {"x86_64-pc-windows-msvc:x86-64-v3", "x86_64-apple-darwin:x86-64-v3",
                           "aarch64-freebsd:neoverse-n1", "aarch64-none-elf:neoverse-n1"})
    expectRefused(text, "Linux");
}

TEST(ParseTarget, RefusesOtherByteOrdersAndPointers) {
  for (const char *text : {"aarch64_be-linux-gnu:neoverse-n1", "x86_64-linux-gnux32:x86-64", "i686-linux-gnu:x86-64",
                           "aarch64-linux-gnu_ilp32:neoverse-n1", "sparc:ultra", ":x"})
    expectRefused(text, "neither aarch64 nor x86-64");
  expectRefused("aarch64:nothing", "unknown CPU");
}

TEST(TargetTest, KnowsItsMultiplyAdds) {
  auto of = [](const char *name) { return llvm::cantFail(parseTarget(name)).instructions; };
  auto fma = MultiplyKind::MultiplyAdd, dot = MultiplyKind::DotProduct;
  Instructions v1 = of("neoverse-v1"), a53 = of("cortex-a53"), avx2 = of("x86-64-v3"), xeon = of("sapphirerapids");
  for (FactorType type : {FactorType::F64, FactorType::F32, FactorType::F16})
    EXPECT_TRUE(v1(fma, type, FactorSource::Vector) && v1(fma, type, FactorSource::Lane));
  EXPECT_TRUE(v1(dot, FactorType::I8, FactorSource::Lane) && v1(dot, FactorType::BF16, FactorSource::Lane));
  EXPECT_FALSE(v1(fma, FactorType::F32, FactorSource::Memory));
  EXPECT_FALSE(a53(dot, FactorType::I8, FactorSource::Vector) || a53(fma, FactorType::F16, FactorSource::Vector));
  EXPECT_TRUE(avx2(fma, FactorType::F32, FactorSource::Vector));
  EXPECT_FALSE(avx2(fma, FactorType::F32, FactorSource::Lane) || avx2(fma, FactorType::F32, FactorSource::Memory));
  EXPECT_TRUE(xeon(fma, FactorType::F32, FactorSource::Memory) && xeon(dot, FactorType::U8I8, FactorSource::Vector));
  EXPECT_TRUE(xeon(dot, FactorType::BF16, FactorSource::Vector) && xeon(fma, FactorType::F16, FactorSource::Vector));
  EXPECT_FALSE(xeon(fma, FactorType::F32, FactorSource::Lane));
}

} // namespace
