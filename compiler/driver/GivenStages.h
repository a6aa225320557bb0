// Texts of stages, put in the place of what the stage made: checked first against what is kept of the model.
#pragma once

#include "compiler/driver/StageTexts.h"
#include "compiler/plan/Program.h"

namespace fathom {

// Puts a graph that --emit graph printed in the place of the imported one, whose inputs and outputs it must have.
llvm::LogicalResult takeGraph(mlir::ModuleOp module, const StageText &given);

// Puts kernels that --emit kernels printed, and the main function that calls them, in the place of the program's, whose
// classes and schedules they must fit.
llvm::LogicalResult takeKernels(Program &program, const Target &target, const StageText &given);

} // namespace fathom
