// How PolyDL (Tavarageri et al.: PolyDL: Polyhedral Optimizations for Creation of High-performance DL Primitives) ranks
// variants of loops: a baseline for studies, which nothing else uses.
#pragma once

#include "compiler/analysis/LoopTree.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <array>

namespace fathom {

// The bytes that are touched between two uses of the same data, for each reuse: of a tensor that another iteration of a
// loop touches again, what an iteration touches; of one that several parts of a body touch, what the body touches.
std::vector<double> workingSets(const LoopTree &tree, int64_t line);

// The sums of those that fit the first cache, the second, and so on, the smallest first, each into the first cache that
// has room for it; what fits none is in memory, the last one.
constexpr size_t workingSetLevels = 4;
using WorkingSetsByLevel = std::array<double, workingSetLevels>;
WorkingSetsByLevel placed(std::vector<double> sets, llvm::ArrayRef<double> caches);

// Its cost: each level's bytes times how long that level takes.
double costOf(const WorkingSetsByLevel &sets, const WorkingSetsByLevel &latencies);

// How often each of so many wins, where all meet: the more, the better.
std::vector<double> tournament(size_t count, llvm::function_ref<double(size_t, size_t)> chanceOfFirst);

} // namespace fathom
