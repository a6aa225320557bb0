// Concat(x0, ..., xk) becomes Concat(Concat(x0, ..., xj), xj+1, ..., xk) where the inner one is there already: a tensor
// lies in one place only, and this way the concatenations of a dense block can all share one. One of very many operands
// becomes one of concatenations of some of them each, which lie in place: code and costs of each are bounded.
#include "compiler/passes/Passes.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom {
#define GEN_PASS_DEF_NESTCONCATSPASS
#include "compiler/passes/Passes.h.inc"

namespace {

// The concatenations of a block so far, as a tree over their operands: the path from the root is a list of operands.
class Prefixes {
public:
  // Replaces the longest list of operands that a concatenation before this one has as its own.
  void nest(ConcatOp concat) {
    int64_t axis = *normalizeAxis(concat.getAxis(), concat.getType().getRank());
    size_t at = child(0, concat.getInputs().front(), axis), length = 0;
    ConcatOp longest;
    auto rest = concat.getInputs().drop_front();
    for (auto [i, input] : llvm::enumerate(rest)) {
      at = child(at, input, axis);
      if (ConcatOp known = nodes[at]; known && i + 1 < rest.size() && fits(known, concat, axis))
        longest = known, length = i + 2;
    }
    if (!nodes[at])
      nodes[at] = concat;
    if (!longest)
      return;
    SmallVector<Value> inputs{longest.getResult()};
    llvm::append_range(inputs, concat.getInputs().drop_front(length));
    concat.getInputsMutable().assign(inputs);
  }

private:
  // The result's other sizes are those of its first operand.
  static bool fits(ConcatOp first, ConcatOp concat, int64_t axis) {
    Sizes sizes = sizesOf(first.getType());
    sizes[axis] = sizesOf(concat.getType())[axis];
    return sizes == sizesOf(concat.getType());
  }

  size_t child(size_t node, Value input, int64_t axis) {
    auto [found, isNew] = children.try_emplace({node, input, axis}, nodes.size());
    if (isNew)
      nodes.emplace_back();
    return found->second;
  }

  SmallVector<ConcatOp> nodes{ConcatOp()};
  DenseMap<std::tuple<size_t, Value, int64_t>, size_t> children;
};

constexpr size_t maxOperands = 128;

void divide(ConcatOp concat) {
  int64_t axis = *normalizeAxis(concat.getAxis(), concat.getType().getRank());
  OpBuilder b(concat);
  SmallVector<Value> level = llvm::to_vector(concat.getInputs());
  size_t parts = 0;
  while (level.size() > maxOperands) {
    SmallVector<Value> next;
    for (ArrayRef<Value> rest = level; !rest.empty(); rest = rest.drop_front(std::min(rest.size(), maxOperands))) {
      ArrayRef<Value> part = rest.take_front(maxOperands);
      std::string suffix = ".some" + std::to_string(parts++);
      next.push_back(part.size() == 1 ? part[0] : createNamed<ConcatOp>(b, concat, suffix, part, axis).getResult());
    }
    level = std::move(next);
  }
  concat.getInputsMutable().assign(level);
}

struct NestConcatsPass : impl::NestConcatsPassBase<NestConcatsPass> {
  LogicalResult runOnFunction(func::FuncOp function) override {
    function.walk([](Block *block) {
      Prefixes prefixes;
      for (auto concat : block->getOps<ConcatOp>())
        prefixes.nest(concat);
      for (auto concat : llvm::make_early_inc_range(block->getOps<ConcatOp>()))
        if (concat.getInputs().size() > maxOperands)
          divide(concat);
    });
    return success();
  }
};

} // namespace
} // namespace fathom
