// Kernels apart from their model: copies of functions, with the panels of their weights left open.
#include "compiler/tune/task/KernelTask.h"

#include "compiler/graph/Layout.h"
#include "compiler/graph/SizeMath.h"
#include "mlir/IR/AsmState.h"
#include "llvm/IR/Module.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom::tune {

// The module of a copy, with the copy in it. What a function knows of its sizes stands at it.
static OwningOpRef<ModuleOp> moduleOf(func::FuncOp function) {
  OwningOpRef<ModuleOp> module = ModuleOp::create(function.getLoc());
  OpBuilder b(module->getBodyRegion());
  auto copy = cast<func::FuncOp>(b.clone(*function));
  copy.setName(KernelTask::symbol);
  copy.setPrivate();
  return module;
}

static void setArgumentType(func::FuncOp function, unsigned index, RankedTensorType type) {
  SmallVector<Type> types = llvm::to_vector(function.getArgumentTypes());
  types[index] = type;
  function.getArgument(index).setType(type);
  function.setFunctionType(FunctionType::get(function.getContext(), types, function.getResultTypes()));
}

KernelTask::KernelTask(const Program &program, const Kernel &kernel, const CodegenOptions &options)
    : module(moduleOf(program.codes[kernel.code].function)), backend(*program.backend), klass(*kernel.kernelClass),
      options(options), kernelName(kernel.name), schedule(kernel.schedule) {
  func::FuncOp open = function();
  packedOrders.resize(open.getNumArguments());
  // A kernel whose schedule says nothing of panels takes what it is given.
  if (klass.family.panelWidth(schedule))
    for (auto [i, argument] : llvm::enumerate(open.getArguments())) {
      auto type = cast<RankedTensorType>(argument.getType());
      if (!layoutOf(type).block)
        continue;
      packedOrders[i] = orderOf(type);
      setArgumentType(open, i, withoutLayout(type));
    }
  llvm::raw_string_ostream(text) << klass.name << '\n'
                                 << OpWithFlags(open, OpPrintingFlags().useLocalScope().elideLargeElementsAttrs(64));
  schedules = klass.family.spaceOf(site(), this->options.target);
}

func::FuncOp KernelTask::function() const {
  return cast<func::FuncOp>(ModuleOp(*const_cast<OwningOpRef<ModuleOp> &>(module)).getBody()->front());
}

Operation *KernelTask::site() const { return anchorOrEnd(function()); }

OwningOpRef<ModuleOp> KernelTask::functionFor(const Schedule &schedule) const {
  OwningOpRef<ModuleOp> copy = moduleOf(function());
  auto packed = cast<func::FuncOp>(copy->getBody()->front());
  int64_t panel = klass.family.panelWidth(schedule);
  for (auto [i, order] : llvm::enumerate(packedOrders))
    if (!order.empty())
      setArgumentType(packed, i, withLayout(cast<RankedTensorType>(packed.getArgument(i).getType()), order, panel));
  return copy;
}

FailureOr<TaskCode> KernelTask::generate(const Schedule &schedule, CodeForm form) const {
  OwningOpRef<ModuleOp> packed = functionFor(schedule);
  auto kernel = cast<func::FuncOp>(packed->getBody()->front());
  OwningOpRef<ModuleOp> loops = ModuleOp::create(kernel.getLoc());
  auto grid = backend.emitKernel(kernel, klass, schedule, symbol, symbolsOf(kernel).size(), options, *loops);
  if (failed(grid))
    return failure();
  // Nothing but the entry is seen from outside: calls within the code are direct, as in an artifact.
  FailureOr<MachineCode> code = backend.generate(*loops, options, form, [](llvm::Module &module) {
    for (llvm::Function &function : module)
      if (!function.isDeclaration() && !function.getName().ends_with(".task"))
        function.setVisibility(llvm::GlobalValue::HiddenVisibility);
  });
  if (failed(code))
    return failure();
  return TaskCode{std::move(*code), *grid};
}

SmallVector<int64_t> KernelTask::sizes() const {
  SmallVector<int64_t> sizes;
  for (auto [i, symbol] : llvm::enumerate(symbolsOf(function())))
    sizes.push_back(std::clamp(representative(site(), getAffineSymbolExpr(i, function().getContext())), symbol.min,
                               std::max(symbol.min, symbol.max)));
  return sizes;
}

SmallVector<TaskBuffer> KernelTask::buffers(const Schedule &schedule) const {
  OwningOpRef<ModuleOp> packed = functionFor(schedule);
  auto kernel = cast<func::FuncOp>(packed->getBody()->front());
  SmallVector<int64_t> sizes = this->sizes();
  SmallVector<TaskBuffer> buffers;
  auto add = [&](Value value, bool isResult, bool isPacked) {
    auto type = cast<RankedTensorType>(value.getType());
    buffers.push_back(
        {size::evaluate(bufferBytes(type), sizes).value_or(0), type.getElementType(), isResult, isPacked, type});
  };
  for (auto [argument, order] : llvm::zip_equal(kernel.getArguments(), packedOrders))
    add(argument, false, !order.empty());
  for (Value result : kernel.front().getTerminator()->getOperands())
    add(result, true, false);
  return buffers;
}

int64_t KernelTask::tasks(const Grid &grid) const { return size::evaluate(grid.tasks, sizes()).value_or(0); }

std::vector<TaskUse> tasksOf(const Program &program, const CodegenOptions &options) {
  std::vector<TaskUse> uses;
  llvm::StringMap<size_t> known; // by key
  for (auto [i, kernel] : llvm::enumerate(program.kernels)) {
    if (kernel.kernelClass->family.knobs().empty())
      continue;
    auto task = std::make_unique<KernelTask>(program, kernel, options);
    auto [found, isNew] = known.try_emplace(task->key(), uses.size());
    if (isNew)
      uses.push_back({std::move(task), {}});
    uses[found->second].kernels.push_back(i);
  }
  return uses;
}

} // namespace fathom::tune
