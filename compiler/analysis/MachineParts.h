// Which part of a kernel each block of its machine code belongs to.
#pragma once

#include "compiler/analysis/CodeParts.h"
#include "llvm/ADT/BitVector.h"

namespace llvm {
class DebugLoc;
class MachineBasicBlock;
class MachineFunction;
} // namespace llvm

namespace fathom {

// Loops are the jumps back; the line of the jump says which loop it is. What every iteration passes runs as often as
// the loop; what only some pass, as often as the part that most of its lines are of.
class MachineParts {
public:
  MachineParts(const llvm::MachineFunction &function, const CodeParts &parts);

  unsigned partOf(const llvm::MachineBasicBlock &block) const;
  unsigned partOf(const llvm::DebugLoc &place) const; // 0 where it is not known
  unsigned loops = 0, unknownLoops = 0, copiedLoops = 0;

private:
  struct MachineLoop {
    llvm::BitVector blocks;
    const llvm::MachineBasicBlock *latch;
    unsigned part;
  };

  unsigned partOfLatch(const llvm::MachineBasicBlock &latch, const llvm::MachineBasicBlock &header) const;
  unsigned mostVoted(const llvm::MachineBasicBlock &block, unsigned within) const;

  const CodeParts &parts;
  std::vector<MachineLoop> found;
  std::vector<unsigned> partOfBlock; // by the blocks' numbers
};

} // namespace fathom
