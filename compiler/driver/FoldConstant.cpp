// Constant folding by the compiler's own kernels: the constant part of the graph becomes a model of its own, which is
// compiled for the build machine with strict floating point and run once.
#include "compiler/driver/FoldConstant.h"

#include "compiler/driver/Compile.h"
#include "compiler/graph/Layout.h"
#include "compiler/package/Weights.h"
#include "compiler/passes/Passes.h"
#include "compiler/plan/FuseOps.h"
#include "compiler/support/Diagnostics.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "runtime/abi.h"
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

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
  Folder(ModuleOp module, FoldBudget &budget)
      : module(module), budget(budget), main(module.lookupSymbol<func::FuncOp>("main")) {}

  LogicalResult run() {
    if (!main || main.isExternal())
      return success();
    collect();
    if (wanted.empty())
      return success();
    OwningOpRef<ModuleOp> part = extract();
    std::vector<std::vector<char>> results;
    if (failed(evaluate(*part, results)))
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

  LogicalResult evaluate(ModuleOp part, std::vector<std::vector<char>> &results) {
    auto target = parseTarget("host");
    if (!target)
      return emitError(module.getLoc(), ErrorCode::Internal) << llvm::toString(target.takeError());
    CompileOptions options;
    options.target = *target;
    options.fp = FloatMode::Strict;
    options.fold = false;
    int fd = memfd_create("fathom-fold", MFD_CLOEXEC);
    std::string path = "/proc/self/fd/" + std::to_string(fd);
    CompileReport report;
    if (failed(compileModule(part, options, path, report))) {
      close(fd);
      return failure();
    }
    void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    auto *artifact = library ? static_cast<const fathom_artifact *>(dlsym(library, FATHOM_ARTIFACT_SYMBOL)) : nullptr;
    LogicalResult outcome = success();
    if (!artifact)
      outcome = emitError(module.getLoc(), ErrorCode::Internal) << "constants could not be computed: " << dlerror();
    else
      outcome = call(*artifact, results);
    if (library)
      dlclose(library);
    close(fd);
    return outcome;
  }

  LogicalResult call(const fathom_artifact &artifact, std::vector<std::vector<char>> &results) {
    std::vector<std::vector<char>> expanded(inputs.size());
    std::vector<const void *> inputPointers;
    for (auto [constant, storage] : llvm::zip(inputs, expanded)) {
      Weight weight{constant.getValue(), constant.getType(), constant.getType()};
      if (auto resource = dyn_cast<DenseResourceElementsAttr>(constant.getValue())) {
        inputPointers.push_back(resource.getRawHandle().getBlob()->getData().data());
        continue;
      }
      storage.resize(bytesOf(constant));
      writeWeight(weight, storage);
      inputPointers.push_back(storage.data());
    }
    std::vector<void *> outputPointers;
    for (Value value : wanted)
      outputPointers.push_back(results.emplace_back(std::max<int64_t>(1, bytesOf(value))).data());
    SmallVector<int64_t> sizes(1);
    for (Value value : wanted)
      sizes.resize(sizes.size() + cast<RankedTensorType>(value.getType()).getRank());
    if (int32_t fault = artifact.plan(nullptr, sizes.data()))
      return blame(fault, "");
    std::vector<char> arena(sizes[0] + 64), scratch(artifact.scratch_size + 64);
    auto aligned = [](std::vector<char> &buffer) {
      return reinterpret_cast<char *>(llvm::alignTo(reinterpret_cast<uintptr_t>(buffer.data()), 64));
    };
    Host host{aligned(scratch)};
    fathom_services services{FATHOM_ABI_VERSION, 0,
                             [](void *host, int32_t kernel, fathom_task_fn fn, const void *env, int64_t tasks) {
                               auto *self = static_cast<Host *>(host);
                               int32_t fault = fn(env, 0, tasks, -1, self->scratch);
                               if (fault)
                                 self->kernel = kernel;
                               return fault;
                             },
                             // What is folded has static sizes.
                             nullptr, nullptr, nullptr,
                             [](void *host, int32_t fault, const char *nodes) {
                               static_cast<Host *>(host)->refused = nodes;
                               return fault;
                             }};
    fathom_call arguments{
        &services, &host, artifact.weights, aligned(arena), nullptr, inputPointers.data(), outputPointers.data()};
    int32_t fault = artifact.run(&arguments);
    if (!fault)
      return success();
    return blame(fault, host.refused ? host.refused : host.kernel >= 0 ? artifact.kernels[host.kernel].nodes : "");
  }

  // What the compiled part asks of its host, and where it failed.
  struct Host {
    char *scratch;
    int32_t kernel = -1;
    const char *refused = nullptr;
  };

  // Every run of the model would fail in the same way, so the model is wrong.
  LogicalResult blame(int32_t fault, StringRef nodes) {
    Location loc = nodes.empty() ? module.getLoc() : NameLoc::get(StringAttr::get(module.getContext(), nodes));
    return emitError(loc, ErrorCode::BadTensor)
           << (fault == FATHOM_FAULT_INDEX ? "a constant index is outside the dimension it selects from"
                                           : "a size that constants decide is not possible");
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
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(main.getBody().front())))
      if (op.use_empty() &&
          (folded.contains(&op) || isa<ConstantOp>(op) || (isView(&op) && isConstantValue(op.getResult(0)))))
        op.erase();
  }

  ModuleOp module;
  FoldBudget &budget;
  func::FuncOp main;
  llvm::SetVector<Operation *> folded;
  SmallVector<Value> wanted;
  SmallVector<ConstantOp> inputs;
};

struct FoldConstantPass : impl::FoldConstantPassBase<FoldConstantPass> {
  using FoldConstantPassBase::FoldConstantPassBase;
  void runOnOperation() override {
    FoldBudget whole = FoldBudget::forModel(getOperation(), budget);
    if (failed(foldConstants(getOperation(), whole)))
      signalPassFailure();
  }
};

} // namespace

LogicalResult foldConstants(ModuleOp module, FoldBudget &budget) { return Folder(module, budget).run(); }

} // namespace fathom
