// The tree of a kernel's loops, from its loop code.
#pragma once

#include "compiler/analysis/Executions.h"
#include "compiler/analysis/LoopTree.h"

namespace fathom {

// How a kernel's function is called: pointers of operands and results, symbols, a run of tasks, whether the scratch
// holds what the run before left, and the scratch.
struct KernelCalls {
  unsigned operands, results;
  llvm::SmallVector<int64_t> symbols; // their values
  int64_t tasks, groupTasks;
  int64_t calls() const { return std::max<int64_t>(1, (tasks + groupTasks - 1) / groupTasks); }
};

Executions countExecutions(const CodeParts &parts, const KernelCalls &calls);

// Nodes have the numbers of the parts.
LoopTree extractLoops(const CodeParts &parts, const Executions &executions, const KernelCalls &calls);

} // namespace fathom
