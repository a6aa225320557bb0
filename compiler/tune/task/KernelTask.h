// A kernel to be tuned, apart from the model that it is of: its function, which schedules are legal for it, and the
// code that it becomes with each of them.
#pragma once

#include "compiler/plan/Program.h"
#include "mlir/IR/OwningOpRef.h"

namespace fathom::tune {

// What a kernel's code is with a schedule.
struct TaskCode {
  MachineCode code;
  Grid grid;
};

// What an argument of a kernel's code is in memory.
struct TaskBuffer {
  int64_t bytes;
  mlir::Type element;
  bool isResult;
  bool isPacked; // a weight in panels
  mlir::RankedTensorType type;
};

class KernelTask {
public:
  // Keeps a copy of the kernel's function, in which weights are not packed yet: how wide their panels are is for the
  // schedule to say.
  KernelTask(const Program &program, const Kernel &kernel, const CodegenOptions &options);

  llvm::StringRef name() const { return kernelName; }
  // What the kernel computes and for which sizes, as text that is the same for equal kernels of all models.
  llvm::StringRef key() const { return text; }
  const KernelClass &kernelClass() const { return klass; }
  const Target &target() const { return options.target; }
  bool isStrict() const { return options.strict; }
  // What the program runs.
  const Schedule &planned() const { return schedule; }

  // Every schedule that is legal, whatever the panels' width. It goes with the task.
  const Space &space() const { return *schedules; }
  // The anchor, or the end of a kernel without one.
  mlir::Operation *site() const;

  // The kernel's function with its weights packed as a schedule has them, in a module of its own. Calls may run side by
  // side.
  mlir::OwningOpRef<mlir::ModuleOp> functionFor(const Schedule &schedule) const;
  // The code of a legal schedule; the runtime calls the function `symbol` followed by ".task". Calls may run side by
  // side.
  mlir::FailureOr<TaskCode> generate(const Schedule &schedule, CodeForm form) const;
  static constexpr llvm::StringLiteral symbol = "kernel";

  // What the code is called with at the sizes that are likely: buffers of operands and results, then the sizes.
  llvm::SmallVector<TaskBuffer> buffers(const Schedule &schedule) const;
  llvm::SmallVector<int64_t> sizes() const;
  int64_t tasks(const Grid &grid) const;

private:
  mlir::func::FuncOp function() const;

  mlir::OwningOpRef<mlir::ModuleOp> module;
  const Backend &backend;
  const KernelClass &klass;
  CodegenOptions options;
  std::string kernelName, text;
  Schedule schedule;
  std::unique_ptr<Space> schedules;
  // Of arguments that are packed: in which order. Of others it is empty.
  std::vector<llvm::SmallVector<int64_t>> packedOrders;
};

// Every kernel of a program once, with the places where it is used: those that have a choice of schedules.
struct TaskUse {
  std::unique_ptr<KernelTask> task;
  std::vector<size_t> kernels; // of the program
};
std::vector<TaskUse> tasksOf(const Program &program, const CodegenOptions &options);

} // namespace fathom::tune
