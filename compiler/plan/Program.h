// The program that the passes end in: kernels as functions of graph ops, and the main function that calls them in
// order.
#pragma once

#include "compiler/graph/OpNames.h"
#include "compiler/kernel/Backend.h"
#include "compiler/plan/AttentionChoice.h"
#include "compiler/plan/Chooser.h"

namespace fathom {

struct Kernel {
  const KernelClass *kernelClass;
  Schedule schedule;
  std::string scheduleEntry; // of the database that the schedule is from; empty: the chooser's own
  std::string name;          // of its result, as in the plan
  std::string nodes;         // the ONNX nodes, separated by commas
  size_t code = 0;           // which of the program's codes it runs
  // For smaller sizes, in ascending order: other schedules, the codes of each, and the size that decides, over the
  // code's symbols.
  std::vector<Version> versions;
  std::vector<size_t> versionCodes;
  mlir::AffineExpr extent;
  // Of the attention that the kernel is, or is a part of.
  std::optional<AttentionCosts> attention;
  // The module's symbols that the code takes, in the order of the code's own symbols.
  llvm::SmallVector<unsigned> symbols;
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
  const Backend *backend = nullptr;
  mlir::ModuleOp module;
  mlir::func::FuncOp main;     // calls of kernels, views, constants and control flow
  std::vector<Kernel> kernels; // a call's attribute graph.kernel says which one it is of
  std::vector<KernelCode> codes;
  Plan plan;
  std::string choicesEntry;      // of the database that the plan's choices are from; empty: none
  int64_t sourceWeightBytes = 0; // of the model's constants, before any were folded or transformed
};

} // namespace fathom
