// The values of a kernel that lie in another order than its results, and the loops over both.
#include "compiler/kernel/Reorder.h"

#include "compiler/kernel/KernelClass.h"
#include "compiler/kernel/VectorWork.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom {
namespace {

RankedTensorType typeOf(Value value) { return dyn_cast<RankedTensorType>(value.getType()); }

bool isPointwise(Operation *op) { return op->hasTrait<Elementwise>() || isa<IdentityOp, RelayoutOp>(op); }

// The dimension along which a value has its neighbours, if these can be moved as vectors.
int64_t neighboursOf(RankedTensorType type) {
  unsigned bits = type.getElementType().isIntOrFloat() ? type.getElementTypeBitWidth() : 0;
  bool isWhole = bits == 8 || bits == 16 || bits == 32 || bits == 64;
  return isWhole && layoutOf(type).blockedDim < 0 ? innermostDim(type) : -1;
}

// What is asked for at the results' own indices and has its neighbours along another dimension than they: the first
// that is found decides which one.
SmallVector<Value> sourcesOf(ValueRange results, int64_t along, int64_t &across) {
  Sizes sizes = sizesOf(results[0]);
  llvm::SmallSetVector<Value, 8> asked(results.begin(), results.end());
  SmallVector<Value> sources;
  for (size_t i = 0; i < asked.size(); ++i) {
    int64_t dim = neighboursOf(typeOf(asked[i]));
    if (dim >= 0 && dim != along && (across < 0 || dim == across)) {
      across = dim;
      sources.push_back(asked[i]);
      continue;
    }
    Operation *op = asked[i].getDefiningOp();
    if (!op || !isPointwise(op))
      continue;
    for (Value operand : op->getOperands())
      if (RankedTensorType type = typeOf(operand); type && sizesOf(type) == sizes)
        asked.insert(operand);
  }
  return sources;
}

} // namespace

int64_t leastSquare(unsigned bits) { return bits == 64 ? 2 : 4; }

std::optional<Reorder> reorderOf(func::FuncOp kernel) {
  if (anchorOf(kernel))
    return std::nullopt;
  Block &body = kernel.getBody().front();
  // The code of all is emitted for every vector of a square.
  if (kernelWork(body.getTerminator()).instructions > maxAnchoredInstructions)
    return std::nullopt;
  OperandRange results = body.getTerminator()->getOperands();
  RankedTensorType type = typeOf(results[0]);
  int64_t along = neighboursOf(type), across = -1;
  if (along < 0 || llvm::any_of(
                       results,
                       [&](Value result) {
                         return neighboursOf(typeOf(result)) != along || orderOf(typeOf(result)) != orderOf(type) ||
                                sizesOf(result) != sizesOf(type);
                       }))
    return std::nullopt;
  Reorder reorder;
  reorder.sources = sourcesOf(results, along, across);
  if (reorder.sources.empty())
    return std::nullopt;

  // Dimensions act as one only where everything is asked for at the results' indices.
  SmallVector<Layout, 0> all;
  auto add = [&](Value value) {
    if (RankedTensorType type = typeOf(value))
      all.push_back(layoutOf(type));
  };
  bool merges =
      llvm::all_of(body.without_terminator(), [](Operation &op) { return isPointwise(&op) || isLiteral(&op); });
  if (merges) {
    llvm::for_each(results, add);
    llvm::for_each(body.getArguments(), add);
    for (auto constant : body.getOps<ConstantOp>())
      add(constant);
    llvm::for_each(reorder.sources, add);
  }
  SmallVector<const Layout *> layouts;
  for (const Layout &layout : all)
    layouts.push_back(&layout);
  reorder.bits = type.getElementTypeBitWidth();
  for (Value source : reorder.sources)
    reorder.bits = std::max(reorder.bits, typeOf(source).getElementTypeBitWidth());
  int64_t least = leastSquare(reorder.bits);
  for (const Loop &loop : loopsOver(type, layouts)) {
    bool isSide = loop.dim == along || loop.dim == across;
    if (isSide && constantSize(loop.size).value_or(least) < least)
      return std::nullopt;
    if (loop.dim == along)
      reorder.along = loop;
    else if (loop.dim == across)
      reorder.across = loop;
    else
      reorder.outer.push_back(loop);
  }
  if (!reorder.along.size || !reorder.across.size)
    return std::nullopt;
  return reorder;
}

} // namespace fathom
