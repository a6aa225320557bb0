// Tests of lists of targets: their order, and what does not go together.
#include "compiler/target/TargetList.h"

#include "gtest/gtest.h"

using namespace fathom;

namespace {

std::vector<std::string> cpusOf(llvm::StringRef text) {
  std::vector<std::string> names;
  llvm::Expected<std::vector<Target>> targets = parseTargets(text);
  if (!targets)
    return {llvm::toString(targets.takeError())};
  for (const Target &target : *targets)
    names.push_back(target.cpu);
  return names;
}

using Names = std::vector<std::string>;

TEST(TargetList, TakesOne) { EXPECT_EQ(cpusOf("neoverse-n1"), Names{"neoverse-n1"}); }

TEST(TargetList, PutsTheMostCapableFirst) {
  Names ordered{"sapphirerapids", "x86-64-v3", "x86-64-v2"};
  EXPECT_EQ(cpusOf("x86-64-v2,sapphirerapids,x86-64-v3"), ordered);
  EXPECT_EQ(cpusOf("x86-64-v3,x86-64-v2,sapphirerapids"), ordered);
  EXPECT_EQ(cpusOf("cortex-a53,neoverse-v1,neoverse-n1"), (Names{"neoverse-v1", "neoverse-n1", "cortex-a53"}));
}

// One has products of bytes in vectors of 256 bits, the other vectors of 512 bits.
TEST(TargetList, KeepsTheOrderOfWhatCannotBeCompared) {
  EXPECT_EQ(cpusOf("alderlake,skylake-avx512"), (Names{"alderlake", "skylake-avx512"}));
  EXPECT_EQ(cpusOf("skylake-avx512,alderlake"), (Names{"skylake-avx512", "alderlake"}));
}

TEST(TargetList, RefusesWhatDoesNotGoTogether) {
  EXPECT_NE(cpusOf("neoverse-n1,x86-64-v3")[0].find("are of one architecture"), std::string::npos);
  EXPECT_NE(cpusOf("x86-64-v3,x86-64-v3")[0].find("both are called 'x86-64-v3'"), std::string::npos);
  EXPECT_NE(cpusOf("x86-64-v3,,x86-64-v2")[0].find("one of them is empty"), std::string::npos);
  EXPECT_NE(cpusOf("cortex-a53,cortex-a57")[0].find("would never be taken"), std::string::npos);
  EXPECT_NE(cpusOf("x86-64-v3,opencl")[0].find("is a device"), std::string::npos);
  EXPECT_NE(cpusOf("x86-64-v3,no-cpu")[0].find("unknown CPU 'no-cpu'"), std::string::npos);
}

} // namespace
