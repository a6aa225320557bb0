// Tests of what the runtime finds out about the machine: CPU quotas of cgroups and CPU features.
#include "CpuCount.h"
#include "CpuFeatures.h"
#include "TestSupport.h"

#include <elf.h>

using namespace fathom;
using namespace fathom::test;

namespace {

// A tree that stands for / with the files of a machine's cgroups.
class Machine {
public:
  Machine &file(const std::string &Path, const std::string &Text) {
    std::filesystem::create_directories(std::filesystem::path(Root / Path).parent_path());
    writeFile(Root / Path, Text);
    return *this;
  }
  int limit() const {
    std::string Name = Root / "";
    Name.pop_back();
    return cgroupCpuLimit(Name.c_str());
  }

private:
  TemporaryFolder Root;
};

} // namespace

TEST(CpuCount, IsAtLeastOne) {
  EXPECT_GE(availableCpus(), 1);
  EXPECT_LE(availableCpus(), MaxThreads);
}

TEST(CpuCount, HasNoLimitWithoutQuota) {
  EXPECT_EQ(Machine().limit(), 0);
  EXPECT_EQ(Machine().file("proc/self/cgroup", "0::/\n").limit(), 0);
  EXPECT_EQ(Machine().file("proc/self/cgroup", "0::/\n").file("sys/fs/cgroup/cpu.max", "max 100000\n").limit(), 0);
  EXPECT_EQ(Machine()
                .file("proc/self/cgroup", "3:cpu,cpuacct:/\n")
                .file("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n")
                .file("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n")
                .limit(),
            0);
}

TEST(CpuCount, ReadsVersionTwo) {
  auto Quota = [](const char *Text) {
    return Machine().file("proc/self/cgroup", "0::/a/b\n").file("sys/fs/cgroup/a/b/cpu.max", Text).limit();
  };
  EXPECT_EQ(Quota("200000 100000\n"), 2);
  EXPECT_EQ(Quota("250000 100000\n"), 3);
  EXPECT_EQ(Quota("1000 100000\n"), 1);
  EXPECT_EQ(Quota("9999999999999 1\n"), MaxThreads);
  for (const char *Odd : {"", "\n", "200000\n", "x y\n", "100000 0\n", "-5 100\n"})
    EXPECT_EQ(Quota(Odd), 0) << Odd;
}

TEST(CpuCount, TakesTheLeastOfAllParents) {
  EXPECT_EQ(Machine()
                .file("proc/self/cgroup", "0::/pod/box\n")
                .file("sys/fs/cgroup/pod/box/cpu.max", "800000 100000\n")
                .file("sys/fs/cgroup/pod/cpu.max", "300000 100000\n")
                .file("sys/fs/cgroup/cpu.max", "max 100000\n")
                .limit(),
            3);
}

// A container that shows the host's path but mounts only its own group.
TEST(CpuCount, FindsTheMountOfAContainer) {
  EXPECT_EQ(Machine()
                .file("proc/self/cgroup", "0::/kubepods/pod1/box\n")
                .file("sys/fs/cgroup/cpu.max", "400000 100000\n")
                .limit(),
            4);
}

TEST(CpuCount, ReadsVersionOne) {
  Machine M;
  M.file("proc/self/cgroup", "5:memory:/x\n4:cpuset:/y\n3:cpuacct,cpu:/docker/1\n0::/\n")
      .file("sys/fs/cgroup/cpu/docker/1/cpu.cfs_quota_us", "150000\n")
      .file("sys/fs/cgroup/cpu/docker/1/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(M.limit(), 2);
}

TEST(CpuFeatures, KnowsTheBaseline) {
#if defined(__aarch64__)
  EXPECT_EQ(HostMachine, EM_AARCH64);
  EXPECT_EQ(cpuFeature("neon"), Feature::Present);
  EXPECT_EQ(cpuFeature("fp-armv8"), Feature::Present);
  for (const char *Name : {"fullfp16", "dotprod", "i8mm", "bf16", "sve", "sve2", "lse", "fp16fml", "rdm", "sme"})
    EXPECT_NE(cpuFeature(Name), Feature::Unknown) << Name;
  EXPECT_EQ(cpuFeature("avx2"), Feature::Unknown);
#elif defined(__x86_64__)
  EXPECT_EQ(HostMachine, EM_X86_64);
  for (const char *Name : {"sse2", "64bit", "cx8"})
    EXPECT_EQ(cpuFeature(Name), Feature::Present) << Name;
  for (const char *Name : {"sse4.2", "avx", "avx2", "fma", "f16c", "bmi2", "avx512f", "avx512vnni", "avx512bf16",
                           "avx512fp16", "amx-tile", "amx-int8"})
    EXPECT_NE(cpuFeature(Name), Feature::Unknown) << Name;
  EXPECT_EQ(cpuFeature("avx2") == Feature::Present, bool(__builtin_cpu_supports("avx2")));
  EXPECT_EQ(cpuFeature("avx512f") == Feature::Present, bool(__builtin_cpu_supports("avx512f")));
  EXPECT_EQ(cpuFeature("fma") == Feature::Present, bool(__builtin_cpu_supports("fma")));
  EXPECT_EQ(cpuFeature("bmi2") == Feature::Present, bool(__builtin_cpu_supports("bmi2")));
  EXPECT_EQ(cpuFeature("neon"), Feature::Unknown);
#endif
  EXPECT_EQ(cpuFeature(""), Feature::Unknown);
  EXPECT_EQ(cpuFeature("no-such-feature"), Feature::Unknown);
}

TEST(CpuFeatures, NamesMachines) {
  EXPECT_STREQ(machineName(EM_X86_64), "x86-64");
  EXPECT_STREQ(machineName(EM_AARCH64), "aarch64");
  EXPECT_EQ(machineName(0), nullptr);
}
