// A tile of rows of scores in scratch, and what their softmax needs to know of each row. Where multiply-adds take a
// lane as their factor, the rows lie side by side for every key: lanes run along them, and the product with the values
// reads the factors of a step together. Otherwise a row is a row, and lanes run along the keys.
#pragma once

#include "compiler/codegen/common/FloatMath.h"
#include "compiler/codegen/cpu/RegisterTile.h"
#include "compiler/schedule/Attention.h"

namespace fathom {

class ScoreTile {
public:
  // `isFast`: cheaper exponentials will do. `rows` rows of `keys` keys at most: the scores from element `start` of
  // scratch on, what is known of the rows from `statistics` on.
  ScoreTile(Emitter &e, mlir::Value scratch, int64_t start, mlir::Value statistics, int64_t rows, int64_t keys,
            bool rowsTogether, bool isFast, const AttentionSchedule &schedule);
  // Elements of scratch that the scores take, and what is known of a row.
  int64_t elements() const { return (rowsTogether ? keys : rows) * stride; }
  int64_t statisticsOfRow() const { return 2 * topLanes + 2; }

  // Before the first block of keys: there is no maximum yet, and no sum.
  void clear();
  // Before each block, where there are several: keeps the maxima of the blocks before.
  void keepMaxima();
  // Sums of a register tile: whole vectors along the keys from `key` on, for all rows. `vector` gives that of a row.
  void put(mlir::Value key, llvm::ArrayRef<int64_t> pieces, llvm::function_ref<mlir::Value(int64_t, int64_t)> vector);
  // One row's, of any number of lanes up to a vector.
  void putRow(mlir::Value row, mlir::Value key, mlir::Value scores, int64_t lanes);
  // Replaces the block's scores by the exponentials of their distance to the maximum. Where there are several blocks,
  // the factors are what everything before has to be multiplied with, as the maximum has grown since.
  void exponentiate(mlir::Value count, bool isOneOfSeveral);
  // Replaces the sums by what results have to be multiplied with; `isEmpty`, where it is not null: whether there are no
  // keys at all.
  void invertSums(mlir::Value isEmpty);
  mlir::Value inverseOf(int64_t row) { return statistic(sumsAt, row); }
  mlir::Value factorOf(int64_t row) { return statistic(factorsAt, row); }
  // Adds the product of the block's `count` keys with a panel of values to the sums.
  llvm::SmallVector<mlir::Value> multiply(const RegisterTile &registers, mlir::Value panel, mlir::Value count,
                                          llvm::ArrayRef<int64_t> pieces, const Ahead &ahead,
                                          mlir::ValueRange sums) const;

private:
  mlir::Value load(mlir::Value at, int64_t lanes) { return c.load(scratch, at, f32, lanes); }
  mlir::Value load(int64_t at, int64_t lanes) { return load(c.add(statistics, at), lanes); }
  void store(mlir::Value value, mlir::Value at) { c.store(value, scratch, at, f32); }
  void store(mlir::Value value, int64_t at) { store(value, c.add(statistics, at)); }
  // A row's place among the statistics that begin at `first`.
  mlir::Value placeOf(mlir::Value row, int64_t first) { return c.add(c.add(statistics, row), first); }
  // Where the score of a row and a key lies.
  mlir::Value place(mlir::Value row, mlir::Value key) const;
  mlir::Value statistic(int64_t at, int64_t row);
  void raise(mlir::Value at, mlir::Value scores, int64_t lanes);
  // The maximum to subtract; none yet is 0, which leaves the exponentials of minus infinity 0.
  mlir::Value subtracted(mlir::Value top, bool isOneOfSeveral);
  void finishStatistics(int64_t lanes, mlir::Value row, mlir::Value before, mlir::Value top, mlir::Value sum,
                        bool isOneOfSeveral);
  void exponentiateTogether(mlir::Value count, bool isOneOfSeveral);
  void exponentiateRows(mlir::Value count, bool isOneOfSeveral);

  Code &c;
  Float f;
  mlir::Type f32;
  mlir::Value scratch, statistics;
  bool rowsTogether;
  int64_t rows, keys, lanes;
  int64_t expTogether; // vectors whose exponentials are taken together
  int64_t stride;      // elements from one row to the next, or from one key to the next
  int64_t topLanes;    // of a row's maximum: where a row is a row, that of each lane is kept
  int64_t start;
  int64_t topsAt = 0, beforeAt, sumsAt, factorsAt; // among the statistics
};

} // namespace fathom
