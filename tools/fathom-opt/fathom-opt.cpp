// Runs passes on the text form of the IR; the lit tests are written with it.
#include "compiler/codegen/common/MathLowering.h"
#include "compiler/driver/Backends.h"
#include "compiler/driver/EmitLoopsPass.h"
#include "compiler/graph/Graph.h"
#include "compiler/graph/InferShapes.h"
#include "compiler/passes/Passes.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  fathom::registerCodegenDialects(registry);
  mlir::registerCanonicalizerPass();
  mlir::registerCSEPass();
  fathom::graph::registerInferShapesPass();
  fathom::registerPasses();
  fathom::registerMathLoweringPass();
  fathom::registerEmitLoopsPass();
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "Fathom's pass driver\n", registry));
}
