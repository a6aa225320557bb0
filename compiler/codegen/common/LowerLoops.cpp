// Loops to LLVM IR to machine code: one conversion, a short optimisation pipeline, LLVM's back end.
#include "compiler/codegen/common/LowerLoops.h"

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Vector/Transforms/LoweringPatterns.h"
#include "mlir/Dialect/Vector/Transforms/VectorRewritePatterns.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/InstCombine/InstCombine.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/IndVarSimplify.h"
#include "llvm/Transforms/Scalar/LICM.h"
#include "llvm/Transforms/Scalar/LoopPassManager.h"
#include "llvm/Transforms/Scalar/LoopRotation.h"
#include "llvm/Transforms/Scalar/SROA.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"

using namespace mlir;

namespace fathom {

std::unique_ptr<llvm::Module> lowerLoops(ModuleOp loops, llvm::LLVMContext &llvmContext, const MathOptions &math,
                                         AddPatterns add) {
  MLIRContext *context = loops.getContext();
  {
    RewritePatternSet patterns(context);
    populateMathLowering(patterns, math);
    arith::populateCeilFloorDivExpandOpsPatterns(patterns);
    vector::populateVectorInsertExtractStridedSliceTransforms(patterns);
    GreedyRewriteConfig config;
    if (failed(applyPatternsGreedily(loops, std::move(patterns), config)))
      return nullptr;
  }
  LLVMTypeConverter converter(context);
  RewritePatternSet patterns(context);
  populateSCFToControlFlowConversionPatterns(patterns);
  cf::populateControlFlowToLLVMConversionPatterns(converter, patterns);
  arith::populateArithToLLVMConversionPatterns(converter, patterns);
  populateMathToLLVMConversionPatterns(converter, patterns);
  populateVectorToLLVMConversionPatterns(converter, patterns);
  populateFuncToLLVMConversionPatterns(converter, patterns);
  ub::populateUBToLLVMConversionPatterns(converter, patterns);
  LLVMConversionTarget target(*context);
  target.addLegalOp<ModuleOp>();
  if (add)
    add(converter, patterns, target);
  if (failed(applyFullConversion(loops, target, std::move(patterns))))
    return nullptr;
  return translateModuleToLLVMIR(loops, llvmContext, "fathom");
}

void cleanUp(llvm::Module &module, llvm::TargetMachine &machine) {
  using namespace llvm;
  module.setTargetTriple(machine.getTargetTriple());
  module.setDataLayout(machine.createDataLayout());
  LoopAnalysisManager lam;
  FunctionAnalysisManager fam;
  CGSCCAnalysisManager cgam;
  llvm::ModuleAnalysisManager mam;
  PassBuilder builder(&machine);
  builder.registerModuleAnalyses(mam);
  builder.registerCGSCCAnalyses(cgam);
  builder.registerFunctionAnalyses(fam);
  builder.registerLoopAnalyses(lam);
  builder.crossRegisterProxies(lam, fam, cgam, mam);
  // The loops are tiled, unrolled and vectorised already: what is left is cleaning up.
  FunctionPassManager functions;
  functions.addPass(SROAPass(SROAOptions::ModifyCFG));
  functions.addPass(EarlyCSEPass());
  functions.addPass(InstCombinePass());
  functions.addPass(SimplifyCFGPass());
  LoopPassManager loops;
  loops.addPass(LoopRotatePass());
  loops.addPass(LICMPass(LICMOptions()));
  loops.addPass(IndVarSimplifyPass());
  functions.addPass(createFunctionToLoopPassAdaptor(std::move(loops), /*UseMemorySSA=*/true));
  functions.addPass(EarlyCSEPass(true));
  functions.addPass(InstCombinePass());
  ModulePassManager passes;
  passes.addPass(createModuleToFunctionPassAdaptor(std::move(functions)));
  passes.run(module, mam);
}

static void emitFile(llvm::Module &module, llvm::TargetMachine &machine, llvm::raw_pwrite_stream &out,
                     llvm::CodeGenFileType kind) {
  llvm::legacy::PassManager passes;
  machine.addPassesToEmitFile(passes, out, nullptr, kind);
  passes.run(module);
}

llvm::SmallVector<char, 0> emitObject(llvm::Module &module, llvm::TargetMachine &machine) {
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream out(bytes);
  emitFile(module, machine, out, llvm::CodeGenFileType::ObjectFile);
  return bytes;
}

std::string emitAssembly(llvm::Module &module, llvm::TargetMachine &machine) {
  llvm::SmallString<0> text;
  llvm::raw_svector_ostream out(text);
  emitFile(module, machine, out, llvm::CodeGenFileType::AssemblyFile);
  return std::string(text);
}

} // namespace fathom
