// What back ends for machines of work items have in common: their classes of kernels and how these are emitted.
#pragma once

#include "compiler/codegen/common/Code.h"
#include "compiler/kernel/Backend.h"

namespace fathom {

class SimtBackend : public Backend {
public:
  llvm::ArrayRef<const KernelClass *> kernelClasses() const override;
  const KernelClass *classOf(mlir::Operation *anchor) const override;
  const KernelClass *classOf(mlir::func::FuncOp kernel) const override;
  std::optional<AnchorLayouts> layoutsOf(mlir::Operation *anchor, const Target &target) const override;
  int64_t alignment() const override;
  void registerDialects(mlir::DialectRegistry &registry) const override;
  mlir::FailureOr<Grid> emitKernel(mlir::func::FuncOp kernel, const KernelClass &klass, const Schedule &schedule,
                                   llvm::StringRef name, unsigned symbolCount, const CodegenOptions &options,
                                   mlir::ModuleOp loops) const override;

  bool makesArtifacts() const override { return true; }
  void declareEntry(Code &c, llvm::StringRef code) const override;
  mlir::Value entryOf(Code &c, llvm::StringRef code, size_t number) const override;
  mlir::Value emitLaunch(Code &c, const Launch &launch) const override;
  std::string entryName(llvm::StringRef code) const override;
};

// What a kernel's function says of its grid: how many groups there are, as an expression over its symbols (s0, ...),
// and the items and bytes of scratch of each.
constexpr llvm::StringLiteral groupsAttribute = "groups", itemsAttribute = "items", scratchAttribute = "scratch",
                              groupsTogetherAttribute = "groups_together";
// That as a line of a comment, for who launches kernels from their text.
std::string launchNote(mlir::func::FuncOp kernel);

// A kernel's name in languages that have letters, digits and _ in names only: `a.b` is fathom_a_2eb.
std::string simtSymbol(llvm::StringRef name);

} // namespace fathom
