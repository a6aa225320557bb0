// Host code of models with very many kernels, in parts: a function's compile time grows faster than its length.
#include "compiler/graph/Pieces.h"
#include "compiler/graph/SizeMath.h"
#include "compiler/package/HostEmitter.h"
#include "runtime/abi.h"
#include "llvm/Support/SaveAndRestore.h"
#include <cstddef>

using namespace mlir;
using namespace fathom::graph;

namespace fathom {

// Launches of a part, and in a run of them so many that it is worth parting.
static constexpr size_t partLaunches = 128, manyLaunches = 4 * partLaunches;

bool HostEmitter::isComputedAnywhere(AffineExpr size) { return size && isComputed(size, symbols); }

// Whether the launch needs nothing but the call: no memory that was made, and no sizes that were read, on the way.
bool HostEmitter::isSelfContained(func::CallOp call) {
  if (memory.released.contains(call))
    return false;
  const Kernel &kernel = program.kernels[call->getAttrOfType<IntegerAttr>("graph.kernel").getInt()];
  if (llvm::any_of(kernel.symbols, [&](unsigned symbol) { return symbols[symbol].isComputed; }))
    return false;
  auto isKnown = [&](Value tensor) {
    while (!memory.places.contains(tensor) && tensor.getDefiningOp() && isView(tensor.getDefiningOp())) {
      if (auto slice = tensor.getDefiningOp<SliceOp>(); slice && isComputedAnywhere(offsetOf(slice)))
        return false;
      tensor = tensor.getDefiningOp()->getOperand(0);
    }
    auto place = memory.places.find(tensor);
    return place != memory.places.end() && place->second.kind != Place::Heap && place->second.kind != Place::Pointer &&
           !isComputedAnywhere(memory.offsets.lookup(tensor));
  };
  auto hasKnownSizes = [&](Value tensor) {
    return llvm::none_of(sizesOf(tensor), [&](AffineExpr size) { return isComputed(size, symbols); });
  };
  return llvm::all_of(call.getOperands(), isKnown) && llvm::all_of(call.getResults(), isKnown) &&
         llvm::all_of(call.getResults(), hasKnownSizes);
}

SmallVector<func::CallOp> HostEmitter::launchesFrom(Operation *first) {
  SmallVector<func::CallOp> launches;
  for (Operation *op = first; op; op = op->getNextNode()) {
    auto call = dyn_cast<func::CallOp>(op);
    if (call && isSelfContained(call))
      launches.push_back(call);
    else if (call || isa<PinOp, AssertOp, IfOp, LoopOp>(op) || op->hasTrait<OpTrait::IsTerminator>() ||
             memory.released.contains(op))
      break;
  }
  return launches;
}

bool HostEmitter::hasManyLaunches() {
  return llvm::range_size(main.getBody().front().getOps<func::CallOp>()) > manyLaunches;
}

void HostEmitter::loadCall(Value call) {
  services = field(call, offsetof(fathom_call, services));
  runtime = field(call, offsetof(fathom_call, host));
  weights = field(call, offsetof(fathom_call, weights));
  arena = field(call, offsetof(fathom_call, arena));
  inputs = field(call, offsetof(fathom_call, inputs));
  outputs = field(call, offsetof(fathom_call, outputs));
  loadSymbols(field(call, offsetof(fathom_call, symbols)));
}

bool HostEmitter::emitParts(ArrayRef<func::CallOp> launches) {
  if (launches.size() <= manyLaunches)
    return false;
  for (; !launches.empty(); launches = launches.drop_front(std::min(launches.size(), partLaunches)))
    emitPart(launches.take_front(partLaunches));
  return true;
}

void HostEmitter::emitPart(ArrayRef<func::CallOp> launches) {
  std::string name = "fathom_run." + std::to_string(parts++);
  {
    // What belongs to a function is its own.
    OpBuilder::InsertionGuard guard(b);
    llvm::SaveAndRestore keptFailed(failed);
    llvm::SaveAndRestore keptServices(services), keptRuntime(runtime), keptWeights(weights), keptArena(arena),
        keptInputs(inputs), keptOutputs(outputs), keptArguments(arguments), keptTable(slotTable);
    SmallVector<Value> keptSymbols = c.symbols;
    func::FuncOp function = begin(name, {pointer, pointer, pointer});
    arguments = function.getArgument(1), slotTable = function.getArgument(2);
    loadCall(function.getArgument(0));
    for (func::CallOp call : launches)
      launch(call);
    func::ReturnOp::create(b, loc, c.i32(0));
    c.symbols = keptSymbols;
  }
  Value result = func::CallOp::create(b, loc, name, i32, ValueRange{call, arguments, slotTable}).getResult(0);
  failIf(c.cmp(arith::CmpIPredicate::ne, result, c.i32(0)), result);
}

} // namespace fathom
