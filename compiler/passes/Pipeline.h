// A pipeline of passes as text, such as "canonicalize-ops, repeat{rounds=4 passes={fold-constant, dynamic-to-static}}":
// MLIR's form, with all passes on the whole module.
#pragma once

#include "compiler/passes/Passes.h"
#include "mlir/Pass/PassManager.h"

namespace fathom {

class Pipeline {
public:
  // What is wrong with the text is reported.
  static mlir::FailureOr<Pipeline> parse(llvm::StringRef text, mlir::Location loc);

  // Refuses an order in which a pass does not get what it needs, for a graph of which these facts hold. The result are
  // those that hold then.
  mlir::FailureOr<Facts> check(Facts facts) const;

  std::vector<GraphPass *> list() const;
  size_t size() const { return passes.size(); }
  // The place of the first pass that gives this; size() without one.
  size_t firstThatGives(Fact fact) const;
  // That of the pass of this name, but of none in a repeat.
  size_t placeOf(llvm::StringRef pass) const;
  // What they are called, with those in repeats.
  std::vector<llvm::StringRef> names() const;
  // Whether this pass is in it, or in a repeat of it.
  bool has(llvm::StringRef pass) const;

  // Runs the passes from one place to another, as long as nobody cancels. All get the context.
  llvm::LogicalResult run(mlir::ModuleOp module, PassContext &context, size_t from, size_t to);
  llvm::LogicalResult run(mlir::ModuleOp module, PassContext &context) { return run(module, context, 0, size()); }

private:
  Pipeline(mlir::OpPassManager passes, mlir::Location loc) : passes(std::move(passes)), loc(loc) {}

  mlir::OpPassManager passes;
  mlir::Location loc; // of problems
};

// Gives the passes of a pipeline that another runs their context.
void setContext(mlir::OpPassManager &passes, PassContext &context);

} // namespace fathom
