// The machine that code is generated for: what LLVM needs to know and what schedules are chosen by.
#pragma once

#include "compiler/target/Calibration.h"
#include "compiler/target/Gpu.h"
#include "compiler/target/Instructions.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

namespace llvm {
class TargetMachine;
}

namespace fathom {

constexpr int64_t lineBytes = 64; // of a cache

// A level of cache: what of it one core can use, and how fast it refills the level before it (the first one: the
// registers).
struct CacheLevel {
  int64_t bytes;
  double bytesPerCycle;
  int64_t ways = 8; // lines of one set: what lies at equal distances of a power of two shares few sets
};

struct Target {
  std::string backend = "cpu"; // the name of what makes its code (kernel/Backend.h)
  std::string triple;
  std::string cpu;
  std::string host;     // of a device: the CPU that runs the host code, as parseTarget takes it
  std::string features; // LLVM's +a,-b list: the whole truth, not what the CPU's name implies
  // The features generated code may rely on beyond the architecture's baseline; the loader checks them.
  std::vector<std::string> required;
  int64_t vectorBytes = 16;
  int64_t vectorRegisters = 32;
  // Instructions on whole vectors that start in a cycle, and how long a multiply-add takes.
  double fmaPerCycle = 2, loadsPerCycle = 2, storesPerCycle = 1, issuedPerCycle = 4;
  int64_t fmaLatency = 4;
  int64_t reorderWindow = 128; // instructions that a core looks ahead: what it can load while it waits
  Instructions instructions;   // multiply-adds of all kinds
  std::vector<CacheLevel> caches{{32 << 10, 32}, {512 << 10, 16}};
  double memoryBytesPerCycle = 4; // for one core
  int64_t cores = 16;
  // How fast the slowest of the threads is at times, in shares of the others' speed: where two share a core, as
  // hardware threads of one or of other programs, or where cores differ. Kernels then have more, smaller tasks.
  double slowestCore = 1;
  Gpu gpu; // where code is for work items
  // What cost models take from measurements.
  Calibration calibration = Calibration::byDefault();

  // Whether a multiply-add can take one lane of a register as its factor (AArch64); others broadcast from memory.
  bool multipliesByLane() const {
    return bool(instructions(MultiplyKind::MultiplyAdd, FactorType::F32, FactorSource::Lane));
  }
  // The same of vectors of four floats, which loops in an order of their own and rows side by side are written for.
  bool multipliesByLaneOfFour() const { return multipliesByLane() && lanes(32) == 4; }
  ByteProduct byteProduct() const;
  bool has(llvm::StringRef feature) const { return llvm::is_contained(required, feature); }
  bool isAArch64() const { return llvm::StringRef(triple).starts_with("aarch64"); }
  // Machines of work items have none: their lanes are items.
  bool hasVectors() const { return vectorBytes > 1; }
  int64_t lanes(unsigned bits) const { return std::max<int64_t>(1, vectorBytes * 8 / bits); }
  // Multiply-adds that keep all units busy: a register tile needs at least as many accumulators. No more are asked for
  // than a plan can say.
  static constexpr int64_t mostInFlight = 64;
  int64_t fmaInFlight() const {
    return std::clamp<int64_t>(int64_t(fmaPerCycle * double(fmaLatency)), 1, mostInFlight);
  }
  std::string spelling() const { return triple + ":" + cpu; }
};

// "host", a CPU name of either architecture ("neoverse-v1", "x86-64-v3"), TRIPLE:CPU, or a machine description in a
// file whose name ends in .yaml. A device is "opencl", "cuda" or "cuda:sm_90"; behind an @ comes the CPU of its host
// code ("cuda:sm_90@aarch64"), which otherwise is any of this machine's architecture.
llvm::Expected<Target> parseTarget(llvm::StringRef text);
// The CPU names that parseTarget takes, for --target help.
std::vector<std::string> knownCpus();

// Takes over the sizes of caches that the system tells. Those behind the second level are shared, and it tells the size
// of the whole: what a core can use of one is what the description says, and no more than there is.
void setCacheBytes(Target &target, llvm::ArrayRef<int64_t> found);

// LLVM's feature list for the host: what was detected, then, switched off, what the CPU's name or another feature
// implies although the machine lacks it. `missing` says so of a name; one it does not know is left alone.
std::string hostFeatures(const llvm::StringMap<bool> &detected, llvm::ArrayRef<std::string> implied,
                         llvm::function_ref<bool(llvm::StringRef)> missing);

void initializeLlvmTargets();
std::unique_ptr<llvm::TargetMachine> createTargetMachine(const Target &target);

} // namespace fathom
