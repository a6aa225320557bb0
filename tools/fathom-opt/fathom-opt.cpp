// Runs passes on the text form of the IR; the lit tests are written with it.
#include "compiler/codegen/common/MathLowering.h"
#include "compiler/graph/Graph.h"
#include "compiler/graph/InferShapes.h"
#include "compiler/passes/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  registry
      .insert<fathom::graph::GraphDialect, mlir::func::FuncDialect, mlir::arith::ArithDialect, mlir::scf::SCFDialect,
              mlir::math::MathDialect, mlir::vector::VectorDialect, mlir::LLVM::LLVMDialect>();
  mlir::registerCanonicalizerPass();
  mlir::registerCSEPass();
  fathom::graph::registerInferShapesPass();
  fathom::registerPasses();
  fathom::registerMathLoweringPass();
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "Fathom's pass driver\n", registry));
}
