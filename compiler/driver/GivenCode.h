// Code that --emit loops or --emit llvm printed, in the place of what would be generated: of some parts of a program,
// or of all.
#pragma once

#include "compiler/driver/StageTexts.h"
#include "compiler/kernel/Backend.h"
#include "compiler/plan/Program.h"
#include "llvm/ADT/StringSet.h"

namespace fathom {

// What a part of a program's code is headed by where it is printed. It tells a kernel's schedule: the host launches as
// many tasks as that says, so that code of another one is no substitute.
std::string titleOf(const KernelCode &kernel, const Target &target);
std::string hostTitle(const Target &target);

class GivenCode {
public:
  GivenCode();
  GivenCode(GivenCode &&);
  ~GivenCode();

  // Of texts whose every part is one of these titles.
  static mlir::FailureOr<GivenCode> read(const StageTexts &texts, const llvm::StringSet<> &titles, mlir::Location loc);

  // A part's loops, which have the functions of the generated ones: those, or what was given.
  mlir::FailureOr<mlir::ModuleOp> loops(llvm::StringRef title, mlir::ModuleOp generated) const;
  // The part as LLVM has it, where that was given; else null.
  llvm::Module *llvm(llvm::StringRef title) const;

private:
  struct LlvmPart;
  llvm::LogicalResult readLoops(const StageText &text, const llvm::StringSet<> &titles, mlir::Location loc);
  llvm::LogicalResult readLlvm(const StageText &text, const llvm::StringSet<> &titles, mlir::Location loc);

  std::string loopsPath;
  llvm::StringMap<mlir::OwningOpRef<mlir::ModuleOp>> loopsParts;
  llvm::StringMap<std::unique_ptr<LlvmPart>> llvmParts;
};

} // namespace fathom
