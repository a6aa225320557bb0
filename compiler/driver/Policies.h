// Policies: sequences of passes that have a name, and sequences that are completed by what a compilation needs.
#pragma once

#include "compiler/passes/Pipeline.h"

namespace fathom {

struct Policy {
  llvm::StringRef name, summary;
  llvm::StringRef passes; // to be completed
};
llvm::ArrayRef<Policy> policyTable();

// The policy that leaves out what cannot change the graph at hand.
constexpr llvm::StringLiteral autoPolicy = "auto";
// In front of passes that are to be completed.
constexpr llvm::StringLiteral completedPrefix = "with:";
// In front of passes, with + between them, that the default takes on.
constexpr llvm::StringLiteral defaultAndPrefix = "default+";

// What --passes means as the text of a pipeline: nothing (the default), a policy, passes to complete or to
// take on, or the text. What
// is wrong is reported.
mlir::FailureOr<std::string> pipelineText(llvm::StringRef passes, mlir::Location loc);

// The passes of these, in their order, with those that they need in front of them and those that make kernels behind.
// Those that work on layouts follow all that do not. Where none decides which ops share a kernel, each has its own.
std::string completed(const Pipeline &passes);

} // namespace fathom
