// The program: kernels as functions of graph ops, and the main function that calls them in order.
#pragma once

#include "compiler/codegen/cpu/Kernels.h"
#include "compiler/kernel/KernelClass.h"
#include "compiler/passes/FuseOps.h"
#include "compiler/schedule/Plan.h"

namespace fathom {

struct Kernel {
  mlir::func::FuncOp function; // shared by kernels of equal code
  const KernelClass *kernelClass;
  Schedule schedule;
  std::string name;  // of its result, as in the plan
  std::string nodes; // the ONNX nodes, separated by commas
  size_t code = 0;   // which of the program's codes it runs
};

// One compiled piece of code: a kernel function with a schedule.
struct KernelCode {
  mlir::func::FuncOp function;
  const KernelClass *kernelClass;
  Schedule schedule;
  std::string symbol;
  Grid grid; // filled in by code generation
};

struct Program {
  mlir::ModuleOp module;
  mlir::func::FuncOp main;     // calls of kernels, views and constants
  std::vector<Kernel> kernels; // in the order of the calls
  std::vector<KernelCode> codes;
  Plan plan;
};

// Lays out, fuses and outlines the module's main function. `plan` may be null.
mlir::FailureOr<Program> buildProgram(mlir::ModuleOp module, const Target &target, const Plan *plan);

} // namespace fathom
