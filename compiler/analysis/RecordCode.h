// The machine code of a kernel as LLVM emits it, block by block, each with the part of the kernel that it belongs to.
#pragma once

#include "compiler/analysis/CodeParts.h"
#include "llvm/MC/MCInst.h"

namespace llvm {
class Module;
class TargetMachine;
} // namespace llvm

namespace fathom {

// Instructions that are executed one behind the other.
struct CodeBlock {
  std::vector<llvm::MCInst> instructions; // symbols are zeros
  unsigned part = 0;                      // as often as its body
  bool skipsLast = false;                 // but for the last iteration of each execution
  bool isLoop = false;                    // it follows itself: a loop of one block
};

struct RecordedCode {
  std::vector<CodeBlock> blocks;
  unsigned loops = 0, unknownLoops = 0; // jumps back; those whose part is not known
  // Loops among the parts that several machine loops are of, as if LLVM had copied them.
  unsigned copiedLoops = 0;
};

// Of the function of `parts`, whose lines were set before it became `module`. The code is exactly what an object gets.
RecordedCode recordCode(llvm::Module &module, llvm::TargetMachine &machine, const CodeParts &parts);

} // namespace fathom
