// Passes over the graph, in alphabetical order; driver/Compile.cpp puts them in sequence.
include "mlir/Pass/PassBase.td"

def AlterOpLayoutPass : Pass<"alter-op-layout", "mlir::func::FuncOp"> {
  let summary = "Choose the algorithm of each convolution and product by cost, and transform its weights for it";
  let options = [Option<"target", "target", "std::string", "\"host\"", "The machine to choose for, as --target of fathom compile">,
                 Option<"convolution", "convolution", "std::string", "\"auto\"", "As --conv-algorithm of fathom compile">,
                 Option<"product", "product", "std::string", "\"auto\"", "As --matmul-algorithm of fathom compile">,
                 Option<"maxWeightGrowth", "max-weight-growth", "double", "0.5", "The most that transformed weights may add, of all weights">,
                 Option<"fp", "fp", "std::string", "\"fast\"", "As --fp of fathom compile">];
}
def CanonicalizeOpsPass : Pass<"canonicalize-ops", "mlir::func::FuncOp"> {
  let summary = "Express ops by the few that have kernels of their own, and drop ops that change nothing";
}
def ConvertLayoutPass : Pass<"convert-layout", "mlir::func::FuncOp"> {
  let summary = "Give every tensor a layout: convolutions channels-last with a halo, weights packed, transposes as views";
  let options = [Option<"target", "target", "std::string", "\"host\"", "The machine to lay out for, as --target of fathom compile">];
}
def DeadCodeEliminationPass : Pass<"dead-code-elimination", "mlir::func::FuncOp"> {
  let summary = "Remove ops whose results nobody uses";
}
def DynamicToStaticPass : Pass<"dynamic-to-static", "mlir::ModuleOp"> {
  let summary = "Replace sizes that were to be read from data by what they are, where constants decide them";
}
def EliminateCommonSubexprPass : Pass<"eliminate-common-subexpr", "mlir::func::FuncOp"> {
  let summary = "Compute equal expressions once";
}
def FoldConstantPass : Pass<"fold-constant", "mlir::ModuleOp"> {
  let summary = "Compute what depends on constants only, with kernels compiled for this machine";
  let dependentDialects = ["mlir::arith::ArithDialect", "mlir::cf::ControlFlowDialect", "mlir::LLVM::LLVMDialect", "mlir::math::MathDialect",
                           "mlir::scf::SCFDialect", "mlir::ub::UBDialect", "mlir::vector::VectorDialect"];
  let options = [Option<"budget", "budget", "double", "1", "As --fold-budget of fathom compile">];
}
def FoldExplicitPaddingPass : Pass<"fold-explicit-padding", "mlir::func::FuncOp"> {
  let summary = "Move a Pad in front of a convolution or pooling window into the window's own padding";
}
def ForwardFoldScaleAxisPass : Pass<"forward-fold-scale-axis", "mlir::func::FuncOp"> {
  let summary = "Move per-channel scales and shifts after a convolution into its weights and bias";
}
def FuseOpsPass : Pass<"fuse-ops", "mlir::func::FuncOp"> {
  let summary = "Group ops that share a kernel; ops of one group get the same graph.kernel number";
}
def HoistInvariantsPass : Pass<"hoist-invariants", "mlir::func::FuncOp"> {
  let summary = "Compute what is the same in every iteration of a loop in front of it";
}
def NestConcatsPass : Pass<"nest-concats", "mlir::func::FuncOp"> {
  let summary = "Express a concatenation by one of its first operands that is there already";
}
def PlacePiecesPass : Pass<"place-pieces", "mlir::func::FuncOp"> {
  let summary = "Write the operands of concatenations where the result has them, and read slices where their input does";
  let options = [Option<"target", "target", "std::string", "\"host\"", "The machine to place for, as --target of fathom compile">];
}
def SimplifyInferencePass : Pass<"simplify-inference", "mlir::func::FuncOp"> {
  let summary = "Turn normalisations with constant statistics into a scale and a shift";
}
