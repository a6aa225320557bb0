// Divides both shapes into the smallest groups of dimensions with the same number of elements.
#include "compiler/graph/ReshapedOrder.h"

#include "compiler/graph/SizeMath.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom {
namespace {

// Dimensions [from, fromEnd) of the input are [to, toEnd) of the result.
struct Group {
  size_t from, fromEnd, to, toEnd;
};

AffineExpr productOf(const Sizes &sizes, size_t begin, size_t end, MLIRContext *context) {
  AffineExpr total = getAffineConstantExpr(1, context);
  for (size_t i = begin; i < end; ++i)
    total = size::simplified(total * sizes[i]);
  return total;
}

// The next group: of all that have the same number of elements on both sides, one of the fewest dimensions.
std::optional<Group> nextGroup(const Sizes &input, const Sizes &result, size_t from, size_t to, MLIRContext *context) {
  for (size_t both = 2; both <= input.size() - from + result.size() - to; ++both)
    for (size_t count = 1; count < both; ++count) {
      size_t fromEnd = from + count, toEnd = to + both - count;
      if (fromEnd <= input.size() && toEnd <= result.size() &&
          productOf(input, from, fromEnd, context) == productOf(result, to, toEnd, context))
        return Group{from, fromEnd, to, toEnd};
    }
  return std::nullopt;
}

bool isOne(AffineExpr size) { return isConstant(size, 1); }

} // namespace

std::optional<SmallVector<int64_t>> reshapedOrder(RankedTensorType input, ArrayRef<int64_t> order,
                                                  RankedTensorType result) {
  Sizes from = sizesOf(input), to = sizesOf(result);
  auto isEmpty = [](AffineExpr size) { return isConstant(size, 0); };
  if (from.empty() || to.empty() || llvm::any_of(from, isEmpty) || llvm::any_of(to, isEmpty))
    return std::nullopt;
  SmallVector<Group> groups;
  for (size_t i = 0, j = 0; i < from.size() && j < to.size();) {
    std::optional<Group> group = nextGroup(from, to, i, j, input.getContext());
    if (!group)
      return std::nullopt;
    groups.push_back(*group);
    i = group->fromEnd, j = group->toEnd;
  }
  // What is left on either side are ones.
  if (!llvm::all_of(ArrayRef(from).drop_front(groups.back().fromEnd), isOne) ||
      !llvm::all_of(ArrayRef(to).drop_front(groups.back().toEnd), isOne))
    return std::nullopt;
  groups.back().fromEnd = from.size(), groups.back().toEnd = to.size();

  // A group's dimensions follow each other in memory as they do in the shape; those of one element lie anywhere.
  SmallVector<int64_t> places;
  for (int64_t d : order)
    if (!isOne(from[d]))
      places.push_back(d);
  SmallVector<int64_t> reshaped;
  SmallVector<bool> isPlaced(groups.size());
  for (size_t at = 0; at < places.size();) {
    const Group *group = llvm::find_if(groups, [&](const Group &g) { return size_t(places[at]) < g.fromEnd; });
    for (size_t d = group->from; d < group->fromEnd; ++d)
      if (!isOne(from[d]) && (at == places.size() || places[at++] != int64_t(d)))
        return std::nullopt;
    isPlaced[group - groups.begin()] = true;
    llvm::append_range(reshaped, llvm::seq<int64_t>(group->to, group->toEnd));
  }
  SmallVector<int64_t> ones;
  for (auto [group, placed] : llvm::zip(groups, isPlaced))
    if (!placed)
      llvm::append_range(ones, llvm::seq<int64_t>(group.to, group.toEnd));
  ones.append(reshaped);
  return ones;
}

} // namespace fathom
