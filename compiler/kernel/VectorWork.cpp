// A rough table of ops: simple arithmetic, quotients and roots, math functions, movement.
#include "compiler/kernel/VectorWork.h"

#include "compiler/graph/Views.h"
#include "compiler/kernel/KernelClass.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom {
namespace {

// What the code of an op has for a vector. Math functions are expanded into polynomials with a dozen constants.
constexpr VectorWork expanded{32, 60, 6}, quotient{6, 12}, simple{1, 3}, movement{4, 6};

// Powers of integers are products and selections, and as many instructions.
bool isExpanded(Operation *op) {
  return op->hasTrait<Expanded>() && (isa<FloatType>(getElementTypeOrSelf(op->getOperand(0))) || isa<PowOp>(op));
}

} // namespace

VectorWork opWork(Operation *op) {
  if (op->getNumResults() == 0 || isLiteral(op))
    return {};
  if (isExpanded(op))
    return expanded;
  if (isa<DivOp, SqrtOp, ReciprocalOp, ModOp>(op))
    return quotient;
  return op->hasTrait<Elementwise>() ? simple : movement;
}

VectorWork kernelWork(Operation *op) {
  Block &body = *op->getBlock();
  VectorWork sum;
  for (Operation &each : body.without_terminator()) {
    if (isAnchor(&each))
      continue;
    VectorWork work = opWork(&each);
    sum.instructions += work.instructions, sum.latency += work.latency;
    sum.live = std::max(sum.live, work.live);
  }
  sum.instructions += body.getNumArguments() + body.getTerminator()->getNumOperands();
  return sum;
}

// Math functions that are, or are likely to be, computed behind the op in its kernel.
static int64_t expandedConsumers(Operation *op) {
  llvm::SmallSetVector<Operation *, 8> consumers;
  consumers.insert(op);
  for (size_t i = 0; i < consumers.size() && consumers.size() < 8; ++i)
    for (Operation *user : consumers[i]->getUsers())
      if (user->hasTrait<Elementwise>() && sizesOf(user->getResult(0)) == sizesOf(op->getResult(0)))
        consumers.insert(user);
  return llvm::count_if(consumers, isExpanded);
}

double consumerCycles(Operation *op, const Target &target) {
  return target.calibration.expandedFunction * double(expandedConsumers(op));
}

double producerCycles(Operation *op, const Target &target) {
  llvm::SmallSetVector<Operation *, 4> producers;
  if (Operation *first = op->getOperand(0).getDefiningOp())
    producers.insert(first);
  for (size_t i = 0; i < producers.size(); ++i)
    for (Value operand : producers[i]->getOperands())
      if (Operation *before = operand.getDefiningOp())
        producers.insert(before);
  return cyclesOfProducers(llvm::count_if(producers, [](Operation *op) { return op->hasTrait<Elementwise>(); }),
                           target);
}

// An op with an operand of its own while rows are packed.
double cyclesOfProducers(int64_t ops, const Target &target) { return target.calibration.producerOp * double(ops); }

bool costAlike(Operation *a, Operation *b) {
  using Equivalence = OperationEquivalence;
  auto areAlike = [](Value x, Value y) {
    return success(x.getType() == y.getType() && isConstantValue(x) == isConstantValue(y));
  };
  return a->getParentRegion() == b->getParentRegion() && expandedConsumers(a) == expandedConsumers(b) &&
         Equivalence::isEquivalentTo(a, b, areAlike, nullptr,
                                     Equivalence::IgnoreLocations | Equivalence::IgnoreDiscardableAttrs);
}

double kernelBytes(Operation *op) {
  double bytes = 0;
  auto add = [&](Value value) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (!type)
      return;
    double size = type.getElementType().isIntOrFloat() ? type.getElementType().getIntOrFloatBitWidth() / 8.0 : 4;
    for (AffineExpr extent : sizesOf(type))
      size *= double(std::max<int64_t>(1, representative(op, extent)));
    bytes += size;
  };
  llvm::for_each(op->getBlock()->getArguments(), add);
  llvm::for_each(op->getBlock()->getTerminator()->getOperands(), add);
  return bytes;
}

} // namespace fathom
