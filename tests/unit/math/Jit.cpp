// Compiles one math op to native code: text, our patterns, MLIR's standard conversions, LLVM, ORC.
#include "Jit.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVMPass.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/SmallVectorMemoryBuffer.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/SubtargetFeature.h"
#include <gtest/gtest.h>

using namespace mlir;

namespace fathom::mathtest {

static MLIRContext &context() {
  static MLIRContext *context = [] {
    DialectRegistry registry;
    registry.insert<arith::ArithDialect, func::FuncDialect, LLVM::LLVMDialect, math::MathDialect, scf::SCFDialect,
                    vector::VectorDialect>();
    registerBuiltinDialectTranslation(registry);
    registerLLVMDialectTranslation(registry);
    auto *result = new MLIRContext(registry, MLIRContext::Threading::DISABLED);
    result->loadAllAvailableDialects();
    return result;
  }();
  return *context;
}

// What computes %y. A few functions are more than one op; of those that may be cheaper, "fast " stands in front.
static std::string body(const Spec &spec, const std::string &operands, const std::string &type) {
  llvm::StringRef op = spec.op;
  bool isFast = op.consume_front("fast ");
  std::string attributes = isFast ? llvm::formatv("{{{0}}", fastAttribute).str() : "";
  std::string one =
      llvm::formatv("    %one = arith.constant {1} : {0}\n", type, spec.lanes == 1 ? "1.0" : "dense<1.0>").str();
  if (op == "exp_at_most_zero")
    return llvm::formatv("    %m = math.absf %x0 : {0}\n    %n = arith.negf %m : {0}\n"
                         "    %y = math.exp %n {{{1}{2}} : {0}\n",
                         type, atMostZeroAttribute, isFast ? std::string(", ") + fastAttribute : "");
  if (op == "sigmoid" || op == "swish")
    return one +
           llvm::formatv("    %n = arith.negf %x0 : {0}\n"
                         "    %e = math.exp %n {1} : {0}\n    %s = arith.addf %one, %e : {0}\n",
                         type, attributes)
               .str() +
           (op == "sigmoid" ? llvm::formatv("    %y = arith.divf %one, %s : {0}\n", type)
                            : llvm::formatv("    %q = arith.divf %one, %s : {0}\n"
                                            "    %y = arith.mulf %x0, %q : {0}\n",
                                            type))
               .str();
  if (op == "one_plus_erf" || op == "one_plus_tanh")
    return one + llvm::formatv("    %e = math.{1} %x0 {2} : {0}\n    %y = arith.addf %e, %one : {0}\n", type,
                               op.substr(strlen("one_plus_")), attributes)
                     .str();
  if (op == "one_plus_erf_of_quotient")
    return one + llvm::formatv("    %d = arith.constant {1} : {0}\n    %q = arith.divf %x0, %d : {0}\n"
                               "    %e = math.erf %q : {0}\n    %y = arith.addf %e, %one : {0}\n",
                               type, spec.lanes == 1 ? "-1.5" : "dense<-1.5>")
                     .str();
  return llvm::formatv("    %y = {0} {1} {2} : {3}\n", op, operands, attributes, type);
}

static std::string source(const Spec &spec) {
  std::string type = spec.lanes == 1 ? spec.element : llvm::formatv("vector<{0}x{1}>", spec.lanes, spec.element).str();
  std::string loads, operands;
  for (unsigned i = 0; i < spec.operands; ++i) {
    loads += llvm::formatv("    %p{0} = llvm.getelementptr %in{0}[%i] : (!llvm.ptr, i64) -> !llvm.ptr, {1}\n"
                           "    %x{0} = llvm.load %p{0} {{alignment = {2} : i64} : !llvm.ptr -> {3}\n",
                           i, spec.element, spec.element == "f32" ? 4 : 8, type);
    operands += (i ? ", %x" : "%x") + std::to_string(i);
  }
  return llvm::formatv(
      "func.func @kernel(%in0: !llvm.ptr, %in1: !llvm.ptr, %in2: !llvm.ptr, %out: !llvm.ptr, %count: i64) {{\n"
      "  %zero = arith.constant 0 : i64\n  %step = arith.constant {0} : i64\n"
      "  scf.for %i = %zero to %count step %step : i64 {{\n"
      "{1}{2}"
      "    %p = llvm.getelementptr %out[%i] : (!llvm.ptr, i64) -> !llvm.ptr, {3}\n"
      "    llvm.store %y, %p {{alignment = {4} : i64} : {5}, !llvm.ptr\n"
      "  }\n  return\n}\n",
      spec.lanes, loads, body(spec, operands, type), spec.element, spec.element == "f32" ? 4 : 8, type);
}

static OwningOpRef<ModuleOp> lowerMath(const Spec &spec) {
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(source(spec), &context());
  if (!module) {
    ADD_FAILURE() << "cannot parse the test of " << spec.op;
    return nullptr;
  }
  RewritePatternSet patterns(&context());
  populateMathLowering(patterns, spec.options);
  FrozenRewritePatternSet frozen(std::move(patterns));
  for (func::FuncOp function : module->getOps<func::FuncOp>())
    if (failed(applyPatternsGreedily(function, frozen)))
      ADD_FAILURE() << "the patterns do not converge on " << spec.op;
  return module;
}

std::string lowered(const Spec &spec) {
  std::string text;
  llvm::raw_string_ostream(text) << *lowerMath(spec);
  return text;
}

Machine Machine::host() {
  llvm::SubtargetFeatures features;
  llvm::StringMap<bool> known = llvm::sys::getHostCPUFeatures();
  for (auto &feature : known)
    features.AddFeature(feature.first(), feature.second);
  // The CPU's name may imply what a hypervisor hides.
  if (!known.lookup("sve"))
    features.AddFeature("sve", false);
  return {llvm::sys::getProcessTriple(), llvm::sys::getHostCPUName().str(), features.getString()};
}

static std::unique_ptr<llvm::TargetMachine> targetMachine(const Machine &machine) {
  static bool initialized = [] {
    llvm::InitializeAllTargetInfos();
    llvm::InitializeAllTargets();
    llvm::InitializeAllTargetMCs();
    llvm::InitializeAllAsmPrinters();
    return true;
  }();
  (void)initialized;
  std::string error;
  llvm::Triple triple(machine.triple);
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target) {
    ADD_FAILURE() << error;
    return nullptr;
  }
  return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(
      triple, machine.cpu, machine.features, {}, llvm::Reloc::PIC_, std::nullopt, llvm::CodeGenOptLevel::Default));
}

static llvm::SmallVector<char, 0> object(const Spec &spec, const Machine &machine) {
  OwningOpRef<ModuleOp> module = lowerMath(spec);
  if (!module)
    return {};
  PassManager passes(&context());
  passes.addPass(createSCFToControlFlowPass());
  passes.addPass(createArithToLLVMConversionPass());
  passes.addPass(createConvertMathToLLVMPass());
  passes.addPass(createConvertControlFlowToLLVMPass());
  passes.addPass(createConvertFuncToLLVMPass());
  passes.addPass(createReconcileUnrealizedCastsPass());
  llvm::LLVMContext llvmContext;
  std::unique_ptr<llvm::Module> code =
      failed(passes.run(*module)) ? nullptr : translateModuleToLLVMIR(*module, llvmContext);
  std::unique_ptr<llvm::TargetMachine> target = targetMachine(machine);
  if (!code || !target) {
    ADD_FAILURE() << "cannot convert " << spec.op << " to LLVM";
    return {};
  }
  for (llvm::Function &function : *code)
    if (function.isDeclaration() && !function.isIntrinsic())
      ADD_FAILURE() << spec.op << " calls " << function.getName().str();
  code->setTargetTriple(target->getTargetTriple());
  code->setDataLayout(target->createDataLayout());
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager graphs;
  llvm::ModuleAnalysisManager modules;
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = tuning.SLPVectorization = tuning.LoopUnrolling = false;
  llvm::PassBuilder builder(target.get(), tuning);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(graphs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, graphs, modules);
  builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O2).run(*code, modules);
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager emission;
  if (target->addPassesToEmitFile(emission, stream, nullptr, llvm::CodeGenFileType::ObjectFile))
    ADD_FAILURE() << "no object code for " << machine.triple;
  emission.run(*code);
  return bytes;
}

static std::vector<std::string> undefined(llvm::ArrayRef<char> bytes) {
  std::vector<std::string> names;
  llvm::MemoryBufferRef buffer(llvm::StringRef(bytes.data(), bytes.size()), "object");
  auto file = llvm::cantFail(llvm::object::ObjectFile::createObjectFile(buffer));
  for (const llvm::object::SymbolRef &symbol : file->symbols())
    if (llvm::cantFail(symbol.getFlags()) & llvm::object::SymbolRef::SF_Undefined)
      if (auto name = llvm::cantFail(symbol.getName()); !name.empty())
        names.push_back(name.str());
  return names;
}

std::vector<std::string> undefinedSymbols(const Spec &spec, const Machine &machine) {
  return undefined(object(spec, machine));
}

Kernel compile(const Spec &spec) {
  static llvm::orc::LLJIT *jit = [] {
    targetMachine(Machine::host());
    return llvm::cantFail(llvm::orc::LLJITBuilder().create()).release();
  }();
  static unsigned count = 0;
  llvm::SmallVector<char, 0> bytes = object(spec, Machine::host());
  for (const std::string &name : undefined(bytes))
    ADD_FAILURE() << spec.op << " needs " << name;
  llvm::orc::JITDylib &library = llvm::cantFail(jit->createJITDylib("kernel" + std::to_string(count++)));
  llvm::cantFail(
      jit->addObjectFile(library, std::make_unique<llvm::SmallVectorMemoryBuffer>(std::move(bytes), "kernel", false)));
  return llvm::cantFail(jit->lookup(library, "kernel")).toPtr<Kernel>();
}

} // namespace fathom::mathtest
