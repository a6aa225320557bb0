// Cycles of straight code on a core, by LLVM's machine code analyser and its model of the core.
#pragma once

#include "compiler/target/Target.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/MC/MCInst.h"
#include <map>
#include <mutex>

namespace llvm {
class MCInstrInfo;
class MCRegisterInfo;
class MCSubtargetInfo;
} // namespace llvm

namespace fathom {

struct InstructionCounts {
  double multiplyAdds = 0, vectorLoads = 0, vectorStores = 0, others = 0; // of vectors or of single numbers
  double all() const { return multiplyAdds + vectorLoads + vectorStores + others; }
  InstructionCounts &operator+=(const InstructionCounts &other);
  InstructionCounts operator*(double times) const;
};

struct BlockTiming {
  double cycles = 0; // each time, when the code follows itself
  double start = 0;  // more, the first time: until results come out
  // What it cannot go faster than: instructions that begin in a cycle, and the busiest unit, with its name.
  double dispatch = 0, unit = 0;
  std::string unitName;
  // "dispatch", the unit, or "latency": that of instructions that wait for each other.
  llvm::StringRef bottleneck() const;
};

// Knows blocks that it has seen; for any number of threads.
class BlockTimer {
public:
  explicit BlockTimer(const Target &target);
  ~BlockTimer();

  InstructionCounts count(llvm::ArrayRef<llvm::MCInst> block) const;
  // Without a model of the core: as `roughly`.
  BlockTiming time(llvm::ArrayRef<llvm::MCInst> block);
  // As many instructions in a cycle as can begin.
  BlockTiming roughly(llvm::ArrayRef<llvm::MCInst> block) const;
  size_t analysed() const { return misses; }
  size_t known() const { return hits; }

private:
  BlockTiming analyse(llvm::ArrayRef<llvm::MCInst> block) const;

  Target target;
  std::unique_ptr<llvm::MCRegisterInfo> registers;
  std::unique_ptr<llvm::MCInstrInfo> instructions;
  std::unique_ptr<llvm::MCSubtargetInfo> subtarget;
  std::vector<bool> isVector; // by registers

  std::mutex mutex;
  std::map<std::string, BlockTiming> timings; // by opcodes and operands
  size_t hits = 0, misses = 0;
};

} // namespace fathom
