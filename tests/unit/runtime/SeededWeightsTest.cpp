// Tests of weights made from a seed: the values are fixed forever, since benchmarks elsewhere compare by them.
#include "SeededWeights.h"
#include "TestSupport.h"

#include <algorithm>
#include <cstring>

using namespace fathom::test;

namespace {

std::vector<float> weightsOf(uint64_t Seed, size_t Bytes) {
  char *Weights = nullptr;
  expectOk(fathom::makeSeededWeights(Seed, Bytes, nullptr, 0, &Weights));
  auto *Begin = reinterpret_cast<const float *>(Weights);
  std::vector<float> Values(Begin, Begin + Bytes / sizeof(float));
  fathom::freeSeededWeights(Weights, Bytes);
  return Values;
}

} // namespace

// The first outputs of splitmix64 for seed 0 are e220a8397b1dcdaf, 6e789e6aa1b965f4, 06c45d188009454f.
TEST(SeededWeights, FollowTheirDefinition) {
  const float Scale = 0.05f / 8388608.0f;
  const uint32_t Halves[6] = {0x7b1dcdaf, 0xe220a839, 0xa1b965f4, 0x6e789e6a, 0x8009454f, 0x06c45d18};
  std::vector<float> Values = weightsOf(0, 24);
  for (size_t I = 0; I < 6; ++I)
    EXPECT_EQ(Values[I], float(int32_t(Halves[I]) >> 8) * Scale);
}

TEST(SeededWeights, AreUniform) {
  std::vector<float> Values = weightsOf(7, 5 << 20);
  auto [Least, Most] = std::minmax_element(Values.begin(), Values.end());
  EXPECT_GE(*Least, -0.05f);
  EXPECT_LT(*Most, 0.05f);
  EXPECT_LT(*Least, -0.0499f);
  EXPECT_GT(*Most, 0.0499f);
  double Sum = 0;
  for (float Value : Values)
    Sum += Value;
  EXPECT_NEAR(Sum / double(Values.size()), 0, 1e-4);
  EXPECT_NE(weightsOf(8, 64), std::vector<float>(Values.begin(), Values.begin() + 16));
}

TEST(SeededWeights, HaveAnySize) {
  std::vector<float> Long = weightsOf(3, (3 << 20) + 12);
  for (size_t Bytes : {0, 4, 8, 100, 1 << 20, (1 << 20) + 4}) {
    std::vector<float> Short = weightsOf(3, Bytes);
    EXPECT_TRUE(std::equal(Short.begin(), Short.end(), Long.begin()));
  }
  char *Weights = nullptr;
  expectOk(fathom::makeSeededWeights(3, 7, nullptr, 0, &Weights));
  EXPECT_EQ(memcmp(Weights, Long.data(), 7), 0);
  fathom::freeSeededWeights(Weights, 7);
}

TEST(SeededWeights, KeepWhatTheArtifactBrings) {
  const int64_t Indices[3] = {7, -1, 1 << 20};
  char *Weights = nullptr;
  expectOk(fathom::makeSeededWeights(3, 64, reinterpret_cast<const char *>(Indices), sizeof Indices, &Weights));
  EXPECT_EQ(memcmp(Weights, Indices, sizeof Indices), 0);
  std::vector<float> Made = weightsOf(3, 64);
  EXPECT_EQ(memcmp(Weights + sizeof Indices, Made.data() + 6, 64 - sizeof Indices), 0);
  fathom::freeSeededWeights(Weights, 64);
}

TEST(SeededWeights, TellWhenMemoryIsOut) {
  char *Weights = nullptr;
  expectError(fathom::makeSeededWeights(1, size_t(1) << 62, nullptr, 0, &Weights), FATHOM_ERROR_MEMORY,
              "no memory for the weights");
  EXPECT_EQ(Weights, nullptr);
}

TEST(SeededWeights, ReachTheArtifact) {
  ModelPtr Model = load("seeded");
  EXPECT_EQ(fathom_model_weights_bytes(Model.get()), 700001u * 4);
  ContextPtr Context = makeContext(Model.get());
  std::vector<float> Out(700001);
  const std::vector<int64_t> Dims{700001};
  expectOk(run(Context, {}, {tensor(Out, Dims)}));
  EXPECT_EQ(Out, weightsOf(1234, 700001 * 4));
}
