// A kernel with a schedule as a shared object of its own, to be measured apart from its model.
#pragma once

#include "compiler/tune/task/KernelTask.h"

namespace fathom::tune {

struct KernelObject {
  std::string bytes;  // of the shared object
  std::string symbol; // of the function that runs tasks (fathom_task_fn in runtime/abi.h)
  int64_t tasks = 0, scratchBytes = 0;
  int64_t groupTasks = 1;
  llvm::SmallVector<TaskBuffer> buffers; // what its argument block begins with
  llvm::SmallVector<int64_t> sizes;      // what stands behind them
};

// Calls may run side by side.
llvm::Expected<KernelObject> objectOf(const KernelTask &task, const Schedule &schedule);

} // namespace fathom::tune
