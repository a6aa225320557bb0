// The phases of transposed convolutions, against the definition: tap t of input i reaches result s * i + t * d - pad.
#include "compiler/kernel/TransposedConv.h"

#include <gtest/gtest.h>
#include <map>
#include <set>

namespace fathom {
namespace {

using Pairs = std::set<std::pair<int64_t, int64_t>>; // input, tap

// What meets each result, of inputs far to both sides.
std::map<int64_t, Pairs> byDefinition(const PhaseAxis &axis, int64_t results) {
  std::map<int64_t, Pairs> all;
  for (int64_t input = -100; input <= 100; ++input)
    for (int64_t tap = 0; tap < axis.kernel; ++tap)
      if (int64_t at = axis.stride * input + tap * axis.dilation - axis.pad; at >= 0 && at < results)
        all[at].insert({input, tap});
  return all;
}

TEST(PhaseAxis, MeetsTheTapsOfTheDefinition) {
  for (int64_t stride = 1; stride <= 6; ++stride)
    for (int64_t dilation = 1; dilation <= 6; ++dilation)
      for (int64_t kernel : {1, 2, 3, 4, 7, 9})
        for (int64_t pad : {0, 1, 2, 5}) {
          graph::Window window{{kernel}, {stride}, {dilation}, {pad}, {0}};
          PhaseAxis axis = phaseAxes(window)[0];
          constexpr int64_t results = 24;
          std::map<int64_t, Pairs> want = byDefinition(axis, results);
          for (int64_t at = 0; at < results; ++at) {
            PhaseAxis::Taps taps = axis.taps(at % stride);
            Pairs got;
            for (int64_t i = 0; i < taps.count; ++i)
              got.insert({at / stride + taps.from - i * axis.inputStep, taps.first + i * axis.tapStep});
            EXPECT_EQ(got, want[at]) << "stride " << stride << " dilation " << dilation << " kernel " << kernel
                                     << " pad " << pad << " result " << at;
          }
        }
}

TEST(PhaseAxis, EveryTapBelongsToOnePhase) {
  graph::Window window{{9, 4, 3}, {4, 2, 5}, {1, 1, 2}, {4, 1, 0}, {0, 0, 0}};
  llvm::SmallVector<int64_t> taps = tapsOfPhases(window);
  EXPECT_EQ(taps.size(), 4u * 2 * 5);
  int64_t sum = 0;
  for (int64_t count : taps)
    sum += count;
  EXPECT_EQ(sum, 9 * 4 * 3);
}

} // namespace
} // namespace fathom
