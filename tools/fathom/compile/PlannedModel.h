// A model from its file to kernels that can be measured and analysed apart from it.
#pragma once

#include "compiler/driver/Compilation.h"
#include "compiler/tune/task/KernelTask.h"
#include "tools/fathom/Commands.h"

namespace fathom {

// What its kernels live in goes with it.
struct PlannedModel {
  std::unique_ptr<mlir::MLIRContext> context = createContext();
  CompileRequest request;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::unique_ptr<Compilation> compilation;
  std::vector<tune::TaskUse> uses;

  // Problems are diagnostics of the context.
  mlir::LogicalResult plan(llvm::StringRef path, const OptionValues &options, CommandBit command);
  // Those that take at least such a share of the estimated time.
  std::vector<const tune::KernelTask *> tasks(double leastShare) const;
};

} // namespace fathom
