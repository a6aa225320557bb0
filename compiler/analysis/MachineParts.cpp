// Loops of machine code.
#include "compiler/analysis/MachineParts.h"

#include "llvm/CodeGen/MachineBasicBlock.h"
#include "llvm/CodeGen/MachineDominators.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/CodeGen/MachineInstr.h"
#include <map>

using namespace llvm;

namespace fathom {

MachineParts::MachineParts(const MachineFunction &function, const CodeParts &parts)
    : parts(parts), partOfBlock(function.getNumBlockIDs()) {
  MachineDominatorTree tree(const_cast<MachineFunction &>(function));
  auto dominates = [&](const MachineBasicBlock &x, const MachineBasicBlock &y) { return tree.dominates(&x, &y); };
  for (const MachineBasicBlock &latch : function)
    for (const MachineBasicBlock *header : latch.successors())
      if (dominates(*header, latch)) {
        MachineLoop &loop = found.emplace_back();
        loop.latch = &latch, loop.part = partOfLatch(latch, *header);
        loop.blocks.resize(function.getNumBlockIDs());
        // All that reaches the jump without passing the header.
        loop.blocks.set(header->getNumber());
        SmallVector<const MachineBasicBlock *> pending{&latch};
        while (!pending.empty()) {
          const MachineBasicBlock *block = pending.pop_back_val();
          if (loop.blocks.test(block->getNumber()))
            continue;
          loop.blocks.set(block->getNumber());
          append_range(pending, block->predecessors());
        }
      }
  loops = found.size();
  SmallDenseSet<unsigned> seen;
  for (const MachineLoop &loop : found) {
    unknownLoops += loop.part == 0;
    copiedLoops += loop.part != 0 && !seen.insert(loop.part).second;
  }
  for (const MachineBasicBlock &block : function) {
    const MachineLoop *inner = nullptr;
    for (const MachineLoop &loop : found)
      if (loop.blocks.test(block.getNumber()) && (!inner || loop.blocks.count() < inner->blocks.count()))
        inner = &loop;
    bool always = inner ? dominates(block, *inner->latch) : any_of(function, [&](const MachineBasicBlock &end) {
      return end.isReturnBlock() && dominates(block, end);
    });
    unsigned part = inner ? inner->part : 0;
    partOfBlock[block.getNumber()] = always ? part : mostVoted(block, part);
  }
}

unsigned MachineParts::partOf(const MachineBasicBlock &block) const { return partOfBlock[block.getNumber()]; }

unsigned MachineParts::partOf(const DebugLoc &place) const {
  unsigned line = place ? place.getLine() : 0;
  return line > 0 && line <= parts.size() ? line - CodeParts::lineOf(0) : 0;
}

unsigned MachineParts::partOfLatch(const MachineBasicBlock &latch, const MachineBasicBlock &header) const {
  for (const MachineInstr &jump : latch.terminators())
    for (const MachineOperand &operand : jump.operands())
      if (operand.isMBB() && operand.getMBB() == &header)
        if (unsigned part = parts.loopOf(partOf(jump.getDebugLoc())))
          return part;
  return parts.loopOf(mostVoted(latch, 0));
}

// Among the parts in a loop, and that loop itself.
unsigned MachineParts::mostVoted(const MachineBasicBlock &block, unsigned within) const {
  std::map<unsigned, unsigned> votes;
  for (const MachineInstr &instruction : block) {
    unsigned part = partOf(instruction.getDebugLoc());
    for (unsigned outer = part; part != 0; outer = parts[outer].parent) {
      if (outer == within)
        ++votes[part];
      if (outer == within || outer == 0)
        break;
    }
  }
  unsigned best = within, most = 0;
  for (auto [part, count] : votes)
    if (count > most)
      best = part, most = count;
  return best;
}

} // namespace fathom
