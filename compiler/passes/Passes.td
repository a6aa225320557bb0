// Passes in alphabetical order: name, what the graph must be like, what it is like then, what is not so any more (the
// facts of GraphPass.h), and what the pass does. FooPass is "foo" in a pipeline's text and in a file Foo.cpp: of this
// folder, or of compiler/plan where it decides.
include "mlir/Pass/PassBase.td"

class GraphPass<string name, string needs, string gives = "0", string ends = "0">
    : PassBase<name, "GraphPassOf<" # needs # ", " # gives # ", " # ends # ">">;

def AlterOpLayoutPass : GraphPass<"alter-op-layout", "RowMajor | Computable | Names", "0", "Names"> {
  let summary = "Choose the algorithm of each convolution and product, and transform its weights for it";
}
def AnnotateSpansPass : GraphPass<"annotate-spans", "0"> {
  let summary = "Give every op its place in the text of the graph as it is now, beside the node that it comes from";
}
def BatchingOpsPass : GraphPass<"batching-ops", "RowMajor", "0", "Names"> {
  let summary = "Make products of one matrix with several of weights of one size a batch of products";
}
def CanonicalizeCastPass : GraphPass<"canonicalize-cast", "RowMajor", "0", "Names"> {
  let summary = "Join chains of casts, and give each reader of a cast to a wider type one of its own";
}
def CanonicalizeOpsPass : GraphPass<"canonicalize-ops", "RowMajor", "Canonical", "Names"> {
  let summary = "Express ops by the few that have kernels of their own, and drop ops that change nothing";
}
def CombineParallelConv2DPass : GraphPass<"combine-parallel-conv2d", "RowMajor", "0", "Names"> {
  let summary = "Make convolutions with equal windows over one input one convolution, of which each takes its channels";
}
def CombineParallelDensePass : GraphPass<"combine-parallel-dense", "RowMajor", "0", "Names"> {
  let summary = "Make products of one matrix with several of weights one product, of which each takes its columns";
}
def ConvertLayoutPass : GraphPass<"convert-layout", "RowMajor | Computable | Names", "Layouts", "RowMajor"> {
  let summary = "Give every tensor a layout: convolutions channels-last with a halo, weights packed, transposes as views";
}
def DeadCodeEliminationPass : GraphPass<"dead-code-elimination", "RowMajor"> {
  let summary = "Remove ops whose results nobody uses";
}
def DecomposeQuantizedPass : GraphPass<"decompose-quantized", "RowMajor", "Unquantized", "Canonical | Names"> {
  let summary = "Express quantised products and convolutions by products and convolutions of wider numbers";
}
def DefuseOpsPass : GraphPass<"defuse-ops", "Groups", "0", "Groups"> {
  let summary = "Take back what fuse-ops did";
}
def DynamicToStaticPass : GraphPass<"dynamic-to-static", "RowMajor"> {
  let summary = "Replace sizes that were to be read from data by what they are, where constants decide them; where it "
                "found any, ask for another round of the repeat around it";
}
def EliminateCommonSubexprPass : GraphPass<"eliminate-common-subexpr", "RowMajor"> {
  let summary = "Compute equal expressions once";
}
def FakeQuantizationToIntegerPass : GraphPass<"fake-quantization-to-integer", "RowMajor", "0", "Canonical | Names"> {
  let summary = "Multiply quantised numbers by constant weights as integers, and move them without dequantising them";
}
def FastMathPass : GraphPass<"fast-math", "RowMajor"> {
  let summary = "Let exponentials, hyperbolic tangents, error functions and what is made of them be cheaper approximations";
}
def FirstOrderGradientPass : GraphPass<"first-order-gradient", "RowMajor | Canonical | Inferring", "0", "Canonical | Names"> {
  let summary = "Compute the gradients of the first result, by reverse-mode differentiation, of the inputs that graph.wrt names";
}
def FoldConstantPass : GraphPass<"fold-constant", "RowMajor"> {
  let summary = "Compute what depends on constants only, within the budget, with kernels compiled for this machine";
  let dependentDialects = ["mlir::arith::ArithDialect", "mlir::cf::ControlFlowDialect", "mlir::LLVM::LLVMDialect", "mlir::math::MathDialect",
                           "mlir::scf::SCFDialect", "mlir::ub::UBDialect", "mlir::vector::VectorDialect"];
}
def FoldExplicitPaddingPass : GraphPass<"fold-explicit-padding", "RowMajor", "0", "Names"> {
  let summary = "Move a Pad in front of a convolution or pooling window into the window's own padding";
}
def ForwardFoldScaleAxisPass : GraphPass<"forward-fold-scale-axis", "RowMajor", "0", "Names"> {
  let summary = "Move per-channel scales and shifts after a convolution into its weights and bias";
}
def FuseOpsPass : GraphPass<"fuse-ops", "Layouts | Results | Names", "Groups", "Movable"> {
  let summary = "Group ops that share a kernel; ops of one group get the same graph.kernel number";
}
def HoistInvariantsPass : GraphPass<"hoist-invariants", "Movable"> {
  let summary = "Compute what is the same in every iteration of a loop in front of it";
}
def LiftWeightsPass : GraphPass<"lift-weights", "RowMajor", "0", "Canonical | Names"> {
  let summary = "Make the loss that graph.loss names the only result, and weights that gradients are asked of inputs";
}
def NameOpsPass : GraphPass<"name-ops", "Movable", "Names"> {
  let summary = "Give every op a name of its own, by which plans and messages refer to it";
}
def NestConcatsPass : GraphPass<"nest-concats", "RowMajor", "0", "Names"> {
  let summary = "Express a concatenation by one of its first operands that is there already";
}
def OutlineKernelsPass : GraphPass<"outline-kernels", "Layouts | Results | Groups | Names", "Kernels",
                                   "Layouts | Results | Groups | Names | Computable"> {
  let summary = "Make groups functions, one for all that are equal, and choose the schedule of each";
}
def PlacePiecesPass : GraphPass<"place-pieces", "Layouts | Results | Movable | Names", "0", "Movable"> {
  let summary = "Write the operands of concatenations where the result has them, and read slices where their input does";
}
def RematerializePass : GraphPass<"rematerialize", "RowMajor", "0", "Names"> {
  let summary = "Compute values once more for gradients instead of keeping them, until graph.memory_budget is met";
}
def RemoveUnusedFunctionsPass : GraphPass<"remove-unused-functions", "0"> {
  let summary = "Remove functions that main does not call, itself or through others";
}
def RepeatPass : GraphPass<"repeat", "0"> {
  let summary = "Run passes, and again where one of them found out what those in front of it did not know";
  let options = [Option<"rounds", "rounds", "unsigned", "4", "How often at most">,
                 Option<"passes", "passes", "std::string", "", "The pipeline to run, in braces">];
}
def SeparateOpsPass : GraphPass<"separate-ops", "Layouts | Results | Names", "Groups", "Movable"> {
  let summary = "Give every op a kernel of its own, in place of fuse-ops";
}
def SimplifyExprPass : GraphPass<"simplify-expr", "RowMajor", "0", "Names"> {
  let summary = "Apply algebra with constants, move scales into weights, and drop what undoes or repeats itself";
}
def SimplifyFCTransposePass : GraphPass<"simplify-fc-transpose", "RowMajor", "0", "Names"> {
  let summary = "Transpose weights ahead, and the product of two transposed matrices in place of both";
}
def SimplifyInferencePass : GraphPass<"simplify-inference", "RowMajor", "Inferring", "Names"> {
  let summary = "Turn normalisations with constant statistics into a scale and a shift";
}
def StoreResultsPass : GraphPass<"store-results", "Layouts | Movable | Names", "Results"> {
  let summary = "Copy what leaves the graph, a branch or a loop and is not a kernel's result, and store sizes that kernels read";
}
def ToANormalFormPass : GraphPass<"to-a-normal-form", "RowMajor", "Textual", "RowMajor | Movable | Canonical | Unquantized | Inferring | Names"> {
  let summary = "Write the graph as a program of the functional language, in which every op has a name by a let";
}
def ToGraphNormalFormPass : GraphPass<"to-graph-normal-form", "Textual", "RowMajor | Movable", "Textual"> {
  let summary = "Read the program that to-a-normal-form has written: names become edges of the graph again";
}
def ToMixedPrecisionPass : GraphPass<"to-mixed-precision", "RowMajor", "0", "Names"> {
  let summary = "Compute products and convolutions, and what can follow them, of halves: f16, or what the option type says";
  let options = [Option<"type", "type", "std::string", "\"f16\"", "f16 or bf16">];
}
def UpdateWeightsPass : GraphPass<"update-weights", "RowMajor", "0", "Names"> {
  let summary = "Make of gradients the step of the optimizer that graph.train names: its results are what the next step takes";
}
