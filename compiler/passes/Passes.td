// Passes over the graph, in alphabetical order; driver/Pipeline.cpp puts them in sequence.
include "mlir/Pass/PassBase.td"

def CanonicalizeOpsPass : Pass<"canonicalize-ops", "mlir::func::FuncOp"> {
  let summary = "Express ops by the few that have kernels of their own, and drop ops that change nothing";
}
def DeadCodeEliminationPass : Pass<"dead-code-elimination", "mlir::func::FuncOp"> {
  let summary = "Remove ops whose results nobody uses";
}
def EliminateCommonSubexprPass : Pass<"eliminate-common-subexpr", "mlir::func::FuncOp"> {
  let summary = "Compute equal expressions once";
}
def ForwardFoldScaleAxisPass : Pass<"forward-fold-scale-axis", "mlir::func::FuncOp"> {
  let summary = "Move per-channel scales and shifts after a convolution into its weights and bias";
}
def SimplifyInferencePass : Pass<"simplify-inference", "mlir::func::FuncOp"> {
  let summary = "Turn normalisations with constant statistics into a scale and a shift";
}
