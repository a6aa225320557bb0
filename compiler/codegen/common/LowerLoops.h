// From loops to LLVM IR to an object file or assembly, the same for all machines whose code LLVM generates.
#pragma once

#include "compiler/codegen/common/MathLowering.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/IR/Module.h"

namespace llvm {
class TargetMachine;
}
namespace mlir {
class LLVMConversionTarget;
class LLVMTypeConverter;
} // namespace mlir

namespace fathom {

// How a back end's own ops become LLVM's.
using AddPatterns =
    llvm::function_ref<void(mlir::LLVMTypeConverter &, mlir::RewritePatternSet &, mlir::LLVMConversionTarget &)>;

// What LLVM's modules are called, in whose objects it is.
constexpr llvm::StringLiteral generatedModuleName = "fathom";

// Lowers loop-level code to LLVM's IR; null on an error, which was reported.
std::unique_ptr<llvm::Module> lowerLoops(mlir::ModuleOp loops, llvm::LLVMContext &context, const MathOptions &math,
                                         AddPatterns add = {});

// Optimises what was tiled, unrolled and vectorised before, for the machine.
void cleanUp(llvm::Module &module, llvm::TargetMachine &machine);

// Whether a module that somebody wrote can take the place of what these loops are lowered to: it is for the machine,
// has their functions, called as `nameOf` says, and calls no others. What it lacks is told.
llvm::LogicalResult checkSubstitute(llvm::Module &given, mlir::ModuleOp loops, const llvm::TargetMachine &machine,
                                    llvm::function_ref<std::string(llvm::StringRef)> nameOf);

llvm::SmallVector<char, 0> emitObject(llvm::Module &module, llvm::TargetMachine &machine);
std::string emitAssembly(llvm::Module &module, llvm::TargetMachine &machine);

} // namespace fathom
