// What all passes have in common: the context that they get, and what they need of a graph and give to it, by which the
// order of a pipeline is checked.
#pragma once

#include "compiler/passes/PassContext.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace fathom {

// What holds of the graph at a place of the pipeline.
enum Fact : unsigned {
  RowMajor = 1,
  Movable = 2,
  Canonical = 4,
  Names = 8,
  Layouts = 16,
  Results = 32,
  Groups = 64,
  Kernels = 128,
  Unquantized = 256,
  Inferring = 512,
  Textual = 1024,
};
using Facts = unsigned;

// Of a graph whose every op can become a kernel.
constexpr Facts Computable = Canonical | Unquantized | Inferring;

// Of a model as it is imported.
constexpr Facts importedFacts = RowMajor | Movable;

struct FactText {
  Fact fact;
  llvm::StringRef name, meaning;
};
llvm::ArrayRef<FactText> factTable();
// Their names, separated by commas.
std::string spellFacts(Facts facts);

class GraphPass : public mlir::OperationPass<mlir::ModuleOp> {
public:
  explicit GraphPass(mlir::TypeID id) : OperationPass(id) {}

  virtual Facts needs() const = 0;
  virtual Facts gives() const = 0;
  virtual Facts ends() const = 0;
  // Of a pass that runs others: their pipeline.
  virtual llvm::StringRef inner() const { return ""; }
  // What is wrong with its options, or an empty string.
  virtual llvm::StringRef problem() const { return ""; }

  void setContext(PassContext &given) { known = &given; }
  using mlir::Pass::clone;

protected:
  PassContext &context() { return *known; }

  // A pass does all at once, or function by function.
  void runOnOperation() override {
    for (auto function : llvm::make_early_inc_range(getOperation().getOps<mlir::func::FuncOp>()))
      if (!function.isExternal() && failed(runOnFunction(function)))
        return signalPassFailure();
  }
  virtual llvm::LogicalResult runOnFunction(mlir::func::FuncOp) { return llvm::success(); }

private:
  PassContext *known = nullptr;
};

// The base of the classes that Passes.td declares.
template <Facts Needs, Facts Gives = 0, Facts Ends = 0> class GraphPassOf : public GraphPass {
public:
  using GraphPass::GraphPass;
  Facts needs() const final { return Needs; }
  Facts gives() const final { return Gives; }
  Facts ends() const final { return Ends; }
};

} // namespace fathom
