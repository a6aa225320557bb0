// Loops to LLVM IR to machine code: one conversion, a short optimisation pipeline, LLVM's back end.
#include "compiler/codegen/common/LowerLoops.h"

#include "compiler/support/Diagnostics.h"
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
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/ADT/StringSet.h"
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
  std::unique_ptr<llvm::Module> module = translateModuleToLLVMIR(loops, llvmContext, generatedModuleName);
  // There is no debug info whose version the module could tell.
  if (llvm::NamedMDNode *flags = module ? module->getModuleFlagsMetadata() : nullptr)
    module->eraseNamedMetadata(flags);
  return module;
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

LogicalResult checkSubstitute(llvm::Module &given, ModuleOp loops, const llvm::TargetMachine &machine,
                              llvm::function_ref<std::string(StringRef)> nameOf) {
  auto refuse = [&](const llvm::Twine &why) {
    return emitError(loops.getLoc(), ErrorCode::BadPlan) << "cannot go on from a module of LLVM: " << why;
  };
  if (given.getTargetTriple() != machine.getTargetTriple() || given.getDataLayout() != machine.createDataLayout())
    return refuse("it is for " + given.getTargetTriple().str() + ", not for " + machine.getTargetTriple().str());
  llvm::StringSet<> known;
  for (auto function : loops.getOps<FunctionOpInterface>()) {
    std::string name = nameOf(function.getName());
    known.insert(name);
    llvm::Function *other = given.getFunction(name);
    bool isThere = other && !other->isDeclaration() && other->arg_size() == function.getNumArguments();
    if (!function.isExternal() && !isThere)
      return refuse("it has no function '" + name + "' of " + Twine(function.getNumArguments()) + " arguments");
  }
  for (llvm::Function &function : given)
    if (function.isDeclaration() && !function.isIntrinsic() && !known.contains(function.getName()))
      return refuse("the artifact has no function '" + function.getName() + "'");
  return success();
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
