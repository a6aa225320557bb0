// The machine that code is generated for: what LLVM needs to know and what schedules are chosen by.
#pragma once

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <memory>
#include <string>
#include <vector>

namespace llvm {
class TargetMachine;
}

namespace fathom {

struct Target {
  std::string triple;
  std::string cpu;
  std::string features; // LLVM's +a,-b list: the whole truth, not what the CPU's name implies
  // The features generated code may rely on beyond the architecture's baseline; the loader checks them.
  std::vector<std::string> required;
  int64_t vectorBytes = 16;
  int64_t vectorRegisters = 32;
  // Multiply-adds that can be in flight: units times latency. A register tile needs at least as many accumulators.
  int64_t fmaInFlight = 16;
  // Whether a multiply-add can take one lane of a register as its factor (AArch64); others broadcast from memory.
  bool laneFma = false;
  int64_t l1Bytes = 32 << 10;
  int64_t l2Bytes = 512 << 10;

  bool isAArch64() const { return llvm::StringRef(triple).starts_with("aarch64"); }
  int64_t lanes(unsigned bits) const { return std::max<int64_t>(1, vectorBytes * 8 / bits); }
  std::string spelling() const { return triple + ":" + cpu; }
};

// "host", a CPU name of either architecture ("neoverse-v1", "x86-64-v3") or TRIPLE:CPU.
llvm::Expected<Target> parseTarget(llvm::StringRef text);
// The CPU names that parseTarget takes, for --target help.
std::vector<std::string> knownCpus();

// LLVM's feature list for the host: what was detected, then, switched off, what the CPU's name or another feature
// implies although the machine lacks it. `missing` says so of a name; one it does not know is left alone.
std::string hostFeatures(const llvm::StringMap<bool> &detected, llvm::ArrayRef<std::string> implied,
                         llvm::function_ref<bool(llvm::StringRef)> missing);

void initializeLlvmTargets();
std::unique_ptr<llvm::TargetMachine> createTargetMachine(const Target &target);

} // namespace fathom
