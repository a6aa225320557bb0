// Tests of how the kernel's description of caches is read.
#include "compiler/target/HostCaches.h"

#include "gtest/gtest.h"
#include <filesystem>
#include <fstream>

using namespace fathom;

namespace {

class HostCaches : public testing::Test {
protected:
  HostCaches() : folder(std::filesystem::path(testing::TempDir()) / ("fathom-caches-" + std::to_string(getpid()))) {}
  ~HostCaches() override { std::filesystem::remove_all(folder); }

  void add(int index, const std::string &level, const std::string &type, const std::string &size) {
    auto path = folder / ("index" + std::to_string(index));
    std::filesystem::create_directories(path);
    std::ofstream(path / "level") << level << "\n";
    std::ofstream(path / "type") << type << "\n";
    std::ofstream(path / "size") << size << "\n";
  }
  std::vector<int64_t> read() { return hostCacheBytes(folder.string()); }

  std::filesystem::path folder;
};

TEST_F(HostCaches, AreDataCachesByLevel) {
  add(0, "1", "Data", "64K");
  add(1, "1", "Instruction", "32K");
  add(2, "3", "Unified", "32M");
  add(3, "2", "Unified", "1024K");
  EXPECT_EQ(read(), (std::vector<int64_t>{64 << 10, 1 << 20, 32 << 20}));
}

TEST_F(HostCaches, EndWhereALevelIsNotDescribed) {
  EXPECT_TRUE(read().empty());
  add(0, "1", "Data", "48K");
  add(1, "2", "Unified", "");
  add(2, "3", "Unified", "8192K");
  EXPECT_EQ(read(), (std::vector<int64_t>{48 << 10}));
}

TEST_F(HostCaches, IgnoresWhatIsNotASize) {
  add(0, "1", "Data", "-4K");
  add(1, "x", "Data", "64K");
  EXPECT_TRUE(read().empty());
}

} // namespace
