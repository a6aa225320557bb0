// Transposing by shuffles of two vectors, each an instruction on both architectures: x86-64 interleaves within parts of
// 128 bits and then exchanges such parts; AArch64 has no longer vectors.
#include "compiler/codegen/cpu/Squares.h"

using namespace mlir;

namespace fathom {

SmallVector<Value> transposeSquare(Code &c, ArrayRef<Value> rows) {
  constexpr int64_t partBits = 128;
  int64_t n = rows.size();
  auto type = cast<VectorType>(rows[0].getType());
  int64_t part = std::min<int64_t>(n, partBits / type.getElementTypeBitWidth());
  auto shuffle = [&](Value x, Value y, llvm::function_ref<int64_t(int64_t)> from) {
    SmallVector<int64_t> mask;
    for (int64_t lane = 0; lane < n; ++lane)
      mask.push_back(from(lane));
    return Value(vector::ShuffleOp::create(c.b, c.loc, x, y, mask));
  };
  // As many rows as a part has lanes: halves of their parts are interleaved until each has a column.
  SmallVector<Value> v = llvm::to_vector(rows);
  for (int64_t step = 1; step < part; step *= 2) {
    SmallVector<Value> next(n);
    for (int64_t first = 0; first < n; first += part)
      for (int64_t i = 0; i < part / 2; ++i)
        for (int64_t half : {0, 1})
          next[first + 2 * i + half] = shuffle(v[first + i], v[first + i + part / 2], [&](int64_t lane) {
            int64_t within = lane % part;
            return lane - within + half * part / 2 + within / 2 + (within % 2) * n;
          });
    v = std::move(next);
  }
  // Parts change places across the diagonal.
  for (int64_t distance = part; distance < n; distance *= 2) {
    SmallVector<Value> next(n);
    for (int64_t i = 0; i < n; ++i) {
      if (i & distance)
        continue;
      Value x = v[i], y = v[i + distance];
      next[i] = shuffle(x, y, [&](int64_t lane) { return lane & distance ? n + lane - distance : lane; });
      next[i + distance] = shuffle(x, y, [&](int64_t lane) { return lane & distance ? n + lane : lane + distance; });
    }
    v = std::move(next);
  }
  return v;
}

} // namespace fathom
