// One table of CPU features per architecture: LLVM's name and where the kernel or the CPU reports it.
#include "CpuFeatures.h"

#include <cstring>
#include <elf.h>

#if defined(__aarch64__)
#include <sys/auxv.h>
#elif defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

using namespace fathom;

const char *fathom::machineName(uint16_t Machine) {
  switch (Machine) {
  case EM_X86_64:
    return "x86-64";
  case EM_AARCH64:
    return "aarch64";
  case EM_RISCV:
    return "riscv";
  default:
    return nullptr;
  }
}

#if defined(__aarch64__)

const uint16_t fathom::HostMachine = EM_AARCH64;

namespace {

// Bits are written as numbers because a kernel header older than the feature does not name it.
struct Entry {
  const char *Name;
  int Word; // 1: AT_HWCAP, 2: AT_HWCAP2
  int Bit;
};

const Entry Table[] = {
    {"fp-armv8", 1, 0},  {"neon", 1, 1},      {"aes", 1, 4},         {"sha2", 1, 6},        {"crc", 1, 7},
    {"lse", 1, 8},       {"fullfp16", 1, 10}, {"rdm", 1, 12},        {"jsconv", 1, 13},     {"complxnum", 1, 14},
    {"rcpc", 1, 15},     {"ccpp", 1, 16},     {"sha3", 1, 17},       {"sm4", 1, 19},        {"dotprod", 1, 20},
    {"sve", 1, 22},      {"fp16fml", 1, 23},  {"dit", 1, 24},        {"lse2", 1, 25},       {"rcpc-immo", 1, 26},
    {"flagm", 1, 27},    {"ssbs", 1, 28},     {"sb", 1, 29},         {"pauth", 1, 30},      {"ccdp", 2, 0},
    {"sve2", 2, 1},      {"sve-aes", 2, 2},   {"sve2-aes", 2, 3},    {"sve-bitperm", 2, 4}, {"sve2-bitperm", 2, 4},
    {"sve2-sha3", 2, 5}, {"sve2-sm4", 2, 6},  {"altnzcv", 2, 7},     {"fptoint", 2, 8},     {"f32mm", 2, 10},
    {"f64mm", 2, 11},    {"i8mm", 2, 13},     {"bf16", 2, 14},       {"rand", 2, 16},       {"bti", 2, 17},
    {"mte", 2, 18},      {"sme", 2, 23},      {"sme-i16i64", 2, 24}, {"sme-f64f64", 2, 25}, {"sme-fa64", 2, 30},
    {"wfxt", 2, 31},     {"sve2p1", 2, 36},   {"sme2", 2, 37},       {"sme2p1", 2, 38},     {"sme-f16f16", 2, 42},
    {"mops", 2, 43},
};

bool has(const Entry &E) {
  const unsigned long Word2 = 26; // AT_HWCAP2, which old headers lack
  return getauxval(E.Word == 1 ? static_cast<unsigned long>(AT_HWCAP) : Word2) >> E.Bit & 1;
}

} // namespace

#elif defined(__x86_64__)

const uint16_t fathom::HostMachine = EM_X86_64;

namespace {

enum Register { EAX, EBX, ECX, EDX };

// What the operating system must save across a context switch before a feature can be used, as bits of XCR0.
enum State : uint32_t { None = 0, Avx = 0x6, Avx512 = 0xe6, Amx = 0x60000 };

struct Entry {
  const char *Name;
  uint32_t Leaf, Subleaf;
  Register Reg;
  int Bit;
  State Needs;
};

const Entry Table[] = {
    {"x87", 1, 0, EDX, 0, None},
    {"cx8", 1, 0, EDX, 8, None},
    {"cmov", 1, 0, EDX, 15, None},
    {"mmx", 1, 0, EDX, 23, None},
    {"fxsr", 1, 0, EDX, 24, None},
    {"sse", 1, 0, EDX, 25, None},
    {"sse2", 1, 0, EDX, 26, None},
    {"sse3", 1, 0, ECX, 0, None},
    {"pclmul", 1, 0, ECX, 1, None},
    {"ssse3", 1, 0, ECX, 9, None},
    {"fma", 1, 0, ECX, 12, Avx},
    {"cx16", 1, 0, ECX, 13, None},
    {"sse4.1", 1, 0, ECX, 19, None},
    {"sse4.2", 1, 0, ECX, 20, None},
    {"crc32", 1, 0, ECX, 20, None},
    {"movbe", 1, 0, ECX, 22, None},
    {"popcnt", 1, 0, ECX, 23, None},
    {"aes", 1, 0, ECX, 25, None},
    {"xsave", 1, 0, ECX, 27, None},
    {"avx", 1, 0, ECX, 28, Avx},
    {"f16c", 1, 0, ECX, 29, Avx},
    {"rdrnd", 1, 0, ECX, 30, None},
    {"fsgsbase", 7, 0, EBX, 0, None},
    {"bmi", 7, 0, EBX, 3, None},
    {"avx2", 7, 0, EBX, 5, Avx},
    {"bmi2", 7, 0, EBX, 8, None},
    {"avx512f", 7, 0, EBX, 16, Avx512},
    {"avx512dq", 7, 0, EBX, 17, Avx512},
    {"rdseed", 7, 0, EBX, 18, None},
    {"adx", 7, 0, EBX, 19, None},
    {"avx512ifma", 7, 0, EBX, 21, Avx512},
    {"clflushopt", 7, 0, EBX, 23, None},
    {"clwb", 7, 0, EBX, 24, None},
    {"avx512cd", 7, 0, EBX, 28, Avx512},
    {"sha", 7, 0, EBX, 29, None},
    {"avx512bw", 7, 0, EBX, 30, Avx512},
    {"avx512vl", 7, 0, EBX, 31, Avx512},
    {"avx512vbmi", 7, 0, ECX, 1, Avx512},
    {"avx512vbmi2", 7, 0, ECX, 6, Avx512},
    {"gfni", 7, 0, ECX, 8, None},
    {"vaes", 7, 0, ECX, 9, Avx},
    {"vpclmulqdq", 7, 0, ECX, 10, Avx},
    {"avx512vnni", 7, 0, ECX, 11, Avx512},
    {"avx512bitalg", 7, 0, ECX, 12, Avx512},
    {"avx512vpopcntdq", 7, 0, ECX, 14, Avx512},
    {"movdiri", 7, 0, ECX, 27, None},
    {"movdir64b", 7, 0, ECX, 28, None},
    {"avx512vp2intersect", 7, 0, EDX, 8, Avx512},
    {"amx-bf16", 7, 0, EDX, 22, Amx},
    {"avx512fp16", 7, 0, EDX, 23, Avx512},
    {"amx-tile", 7, 0, EDX, 24, Amx},
    {"amx-int8", 7, 0, EDX, 25, Amx},
    {"avxvnni", 7, 1, EAX, 4, Avx},
    {"avx512bf16", 7, 1, EAX, 5, Avx512},
    {"amx-fp16", 7, 1, EAX, 21, Amx},
    {"avxifma", 7, 1, EAX, 23, Avx},
    {"avxvnniint8", 7, 1, EDX, 4, Avx},
    {"avxneconvert", 7, 1, EDX, 5, Avx},
    {"amx-complex", 7, 1, EDX, 8, Amx},
    {"avxvnniint16", 7, 1, EDX, 10, Avx},
    {"sahf", 0x80000001, 0, ECX, 0, None},
    {"lzcnt", 0x80000001, 0, ECX, 5, None},
    {"sse4a", 0x80000001, 0, ECX, 6, None},
    {"prfchw", 0x80000001, 0, ECX, 8, None},
    {"xop", 0x80000001, 0, ECX, 11, Avx},
    {"fma4", 0x80000001, 0, ECX, 16, Avx},
    {"tbm", 0x80000001, 0, ECX, 21, None},
    {"64bit", 0x80000001, 0, EDX, 29, None},
};

bool systemSaves(State Needs) {
  if (Needs == None)
    return true;
  uint32_t Regs[4];
  if (!__get_cpuid(1, &Regs[EAX], &Regs[EBX], &Regs[ECX], &Regs[EDX]) || !(Regs[ECX] >> 27 & 1))
    return false;
  uint32_t Low, High;
  __asm__ volatile("xgetbv" : "=a"(Low), "=d"(High) : "c"(0));
  if ((Low & Needs) != Needs)
    return false;
  // Linux gives a process AMX's tile registers only when it asks: ARCH_REQ_XCOMP_PERM for XFEATURE_XTILEDATA.
  return Needs != Amx || syscall(SYS_arch_prctl, 0x1023, 18) == 0;
}

bool has(const Entry &E) {
  uint32_t Regs[4];
  return __get_cpuid_count(E.Leaf, E.Subleaf, &Regs[EAX], &Regs[EBX], &Regs[ECX], &Regs[EDX]) &&
         (Regs[E.Reg] >> E.Bit & 1) && systemSaves(E.Needs);
}

} // namespace

#else
#error "Fathom's runtime knows aarch64 and x86-64"
#endif

Feature fathom::cpuFeature(const char *Name) {
  for (const Entry &E : Table)
    if (!strcmp(E.Name, Name))
      return has(E) ? Feature::Present : Feature::Missing;
  return Feature::Unknown;
}
