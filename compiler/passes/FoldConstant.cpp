// Constant folding: the constant part of the graph becomes a model of its own, which an evaluator runs once.
#include "compiler/graph/Layout.h"
#include "compiler/graph/Views.h"
#include "compiler/passes/Passes.h"
#include "mlir/IR/DialectResourceBlobManager.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom {
#define GEN_PASS_DEF_FOLDCONSTANTPASS
#include "compiler/passes/Passes.h.inc"

namespace {

int64_t bytesOf(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  return type.hasStaticShape() ? type.getNumElements() * elementBytes(type.getElementType()) : INT64_MAX;
}

// Numbers that say how an op works (axes, sizes, scales) must stay visible as constants.
bool staysConstant(ConstantOp op) {
  return op.getType().getNumElements() <= (isa<IntegerType>(op.getType().getElementType()) ? 1024 : 16);
}

class Folder {
public:
  Folder(ModuleOp module, FoldBudget &budget, Evaluator &evaluator)
      : module(module), budget(budget), evaluator(evaluator), main(module.lookupSymbol<func::FuncOp>("main")) {}

  LogicalResult run() {
    if (!main || main.isExternal())
      return success();
    collect();
    if (wanted.empty())
      return success();
    OwningOpRef<ModuleOp> part = extract();
    std::vector<std::vector<char>> results;
    if (failed(evaluator.evaluate(*part, inputs, results)))
      return failure();
    replace(results);
    return success();
  }

private:
  // What is folded, and of that what others need.
  void collect() {
    folded.insert_range(planFolding(main, budget));
    for (Operation *op : folded)
      for (Value result : op->getResults())
        if (llvm::any_of(result.getUsers(), [&](Operation *user) { return !folded.contains(user); }))
          wanted.push_back(result);
  }

  // The constant part as a model: large constants are its inputs, so that they need not be copied.
  OwningOpRef<ModuleOp> extract() {
    OwningOpRef<ModuleOp> part = ModuleOp::create(module.getLoc());
    OpBuilder b(module.getContext());
    llvm::SetVector<Operation *> needed;
    // With the ops that they are made from, in the graph's order.
    DenseSet<Operation *> seen;
    SmallVector<Operation *> open;
    auto need = [&](Value value) {
      if (Operation *op = value.getDefiningOp(); op && seen.insert(op).second)
        open.push_back(op);
    };
    llvm::for_each(wanted, need);
    while (!open.empty())
      llvm::for_each(open.pop_back_val()->getOperands(), need);
    for (Operation &op : main.getBody().front())
      if (seen.contains(&op))
        needed.insert(&op);
    SmallVector<Type> inputTypes, outputTypes;
    for (Operation *op : needed)
      if (auto constant = dyn_cast<ConstantOp>(op); constant && !staysConstant(constant))
        inputs.push_back(constant), inputTypes.push_back(constant.getType());
    for (Value value : wanted)
      outputTypes.push_back(value.getType());
    b.setInsertionPointToEnd(part->getBody());
    auto function = func::FuncOp::create(b, module.getLoc(), "main", b.getFunctionType(inputTypes, outputTypes));
    b.setInsertionPointToStart(function.addEntryBlock());
    IRMapping mapping;
    for (auto [constant, argument] : llvm::zip(inputs, function.getArguments()))
      mapping.map(constant.getResult(), argument);
    for (Operation *op : needed)
      if (!isa<ConstantOp>(op) || staysConstant(cast<ConstantOp>(op)))
        b.clone(*op, mapping);
    SmallVector<Value> returned;
    for (Value value : wanted)
      returned.push_back(mapping.lookup(value));
    func::ReturnOp::create(b, module.getLoc(), returned);
    return part;
  }

  void replace(std::vector<std::vector<char>> &results) {
    OpBuilder b(module.getContext());
    for (auto [value, bytes] : llvm::zip(wanted, results)) {
      auto type = cast<RankedTensorType>(value.getType());
      Operation *def = value.getDefiningOp();
      b.setInsertionPoint(def);
      ElementsAttr attr;
      bytes.resize(bytesOf(value));
      if (type.getElementType().isInteger(1)) {
        SmallVector<bool> bits(bytes.begin(), bytes.end());
        attr = DenseElementsAttr::get(type, bits);
      } else if (bytesOf(value) <= 4096) {
        attr = DenseElementsAttr::getFromRawBuffer(type, bytes);
      } else {
        // The blob owns the bytes; the manager makes the name unique.
        auto *owned = new std::vector<char>(std::move(bytes));
        AsmResourceBlob blob(
            ArrayRef<char>(owned->data(), owned->size()), 8, [owned](void *, size_t, size_t) { delete owned; },
            /*dataIsMutable=*/false);
        attr = DenseResourceElementsAttr::get(type, "folded", std::move(blob));
      }
      auto constant = ConstantOp::create(b, def->getLoc(), type, attr);
      value.replaceAllUsesWith(constant);
    }
    // Also constants that nothing else reads, so that their bytes do not count any more.
    llvm::DenseSet<Value> constants = constantsIn(main.getBody().front());
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(main.getBody().front())))
      if (op.use_empty() &&
          (folded.contains(&op) || isa<ConstantOp>(op) || (isView(&op) && constants.contains(op.getResult(0)))))
        op.erase();
  }

  ModuleOp module;
  FoldBudget &budget;
  Evaluator &evaluator;
  func::FuncOp main;
  llvm::SetVector<Operation *> folded;
  SmallVector<Value> wanted;
  SmallVector<ConstantOp> inputs;
};

struct FoldConstantPass : impl::FoldConstantPassBase<FoldConstantPass> {
  void runOnOperation() override {
    PassContext &known = context();
    if (!known.evaluator)
      return;
    if (!known.foldBudget)
      known.foldBudget = FoldBudget::forModel(getOperation(), known.foldFactor);
    if (failed(Folder(getOperation(), *known.foldBudget, *known.evaluator).run()))
      signalPassFailure();
  }
};

} // namespace
} // namespace fathom
