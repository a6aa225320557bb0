// Host code's view of tensors: in its own memory as they are, in a device's through services of the runtime.
#include "compiler/package/HostEmitter.h"
#include "runtime/abi.h"
#include <cstddef>

using namespace mlir;
using namespace fathom::graph;

namespace fathom {

static int64_t elementBytes(Value tensor) {
  Type type = memoryType(registerType(cast<RankedTensorType>(tensor.getType()).getElementType()));
  return llvm::divideCeil(type.getIntOrFloatBitWidth(), 8);
}

// Of the function that is emitted now: as much as one of the model's ops reads, and a number that is written.
void HostEmitter::makeStaging() {
  if (!onDevice)
    return;
  int64_t most = 1;
  main.walk([&](PinOp pin) {
    auto [first, last] = std::minmax_element(pin.getPositions().begin(), pin.getPositions().end());
    if (first != last)
      most = std::max(most, *last + 1 - *first);
  });
  staging = LLVM::AllocaOp::create(b, loc, pointer, i64, c.i64(most), 8);
}

Value HostEmitter::readable(Value tensor, int64_t first, int64_t count) {
  Value base = addressOf(tensor);
  if (!onDevice)
    return base;
  int64_t bytes = elementBytes(tensor);
  Value from = c.address(base, c.i64(first * bytes), b.getI8Type());
  callService(offsetof(fathom_services, device_read), {staging, from, c.i64(count * bytes)});
  replayable = false;
  return staging;
}

void HostEmitter::storeScalar(Value value, Value tensor) {
  Value to = addressOf(tensor);
  c.store(value, onDevice ? staging : to, c.i64(0), value.getType());
  if (!onDevice)
    return;
  replayable = false;
  callService(offsetof(fathom_services, device_write), {to, staging, c.i64(elementBytes(tensor))});
}

} // namespace fathom
