// Tests of the settings that bench --throughput tries.
#include "tools/fathom/run/StreamSettings.h"
#include "gtest/gtest.h"

using namespace fathom;

static void PrintTo(const StreamSetting &setting, std::ostream *out) {
  *out << setting.streams << " x " << setting.threads;
}

TEST(StreamSettings, HalvesTheThreads) {
  EXPECT_EQ(streamSettings(1, 0, 0), (std::vector<StreamSetting>{{1, 1}}));
  EXPECT_EQ(streamSettings(2, 0, 0), (std::vector<StreamSetting>{{1, 2}, {2, 1}}));
  EXPECT_EQ(streamSettings(6, 0, 0), (std::vector<StreamSetting>{{1, 6}, {2, 3}, {6, 1}}));
  EXPECT_EQ(streamSettings(8, 0, 0), (std::vector<StreamSetting>{{1, 8}, {2, 4}, {4, 2}, {8, 1}}));
}

TEST(StreamSettings, UsesNoMoreThreadsThanCpus) {
  for (int cpus = 1; cpus < 200; ++cpus) {
    auto settings = streamSettings(cpus, 0, 0);
    EXPECT_EQ(settings.front(), (StreamSetting{1, cpus}));
    EXPECT_EQ(settings.back().threads, 1) << cpus;
    for (size_t i = 0; i < settings.size(); ++i) {
      EXPECT_LE(settings[i].streams * settings[i].threads, cpus);
      EXPECT_TRUE(i == 0 || settings[i].streams > settings[i - 1].streams) << cpus;
    }
    EXPECT_EQ(settings.back().streams, cpus);
  }
}

TEST(StreamSettings, TakesWhatIsGiven) {
  EXPECT_EQ(streamSettings(8, 3, 5), (std::vector<StreamSetting>{{3, 5}}));
  EXPECT_EQ(streamSettings(8, 3, 0), (std::vector<StreamSetting>{{3, 2}}));
  EXPECT_EQ(streamSettings(8, 20, 0), (std::vector<StreamSetting>{{20, 1}}));
  EXPECT_EQ(streamSettings(8, 0, 3), (std::vector<StreamSetting>{{2, 3}}));
  EXPECT_EQ(streamSettings(8, 0, 9), (std::vector<StreamSetting>{{1, 9}}));
}
