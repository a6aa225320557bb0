// Whole-model choices where they meet a compilation: the model is planned with them from its graph before algorithms.
#pragma once

#include "compiler/driver/ChoiceJudges.h"

namespace fathom {

// Whether sites may take what was not proposed: where schedules are tuned, or a database is asked.
bool mayChoose(const CompileOptions &options, const Pipeline &pipeline);

// Finds what the sites of a model that is planned as proposed take, or what a database knows of that.
llvm::LogicalResult choose(const OpenModel &open, const Program &proposed, llvm::ArrayRef<Site> sites,
                           BuildProgram build, CompileReport &report, mlir::Location loc);

} // namespace fathom
