// The inner loops of matrix products: rows of a left operand times a panel of a packed right one, summed in registers.
#pragma once

#include "compiler/codegen/common/Emitter.h"
#include "compiler/codegen/common/Sums.h"
#include "compiler/codegen/cpu/OrderedLoop.h"
#include "compiler/graph/ByteProducts.h"

namespace fathom {

// Elements of the right operand that will be needed soon: from element `start` on, `perStep` of them for each step of
// the reduction, until all are on their way.
struct Ahead {
  mlir::Value start;
  int64_t perStep = 0; // 0: none
};

// What one of so many tiles that pass a panel fetches of the next one, while its reduction takes `depth` steps.
Ahead shareOfPanel(Code &c, mlir::Value next, mlir::Value tile, int64_t tiles, mlir::Value depth, int64_t panelWidth);

// Four vectors of four lanes, transposed: the first of the result has the first lanes of all.
llvm::SmallVector<mlir::Value> transposeFour(Code &c, llvm::ArrayRef<mlir::Value> vectors);

struct RegisterTile {
  Emitter &e;
  mlir::Type acc;                // of the sums
  int64_t panelWidth;            // columns of a panel; its rows follow each other
  int64_t unroll;                // steps of the reduction per iteration
  int64_t inFlight;              // multiply-adds at a time that the schedule wants
  int64_t loadAhead;             // multiply-adds that loads come ahead of their use; 0: LLVM orders them
  mlir::Value right;             // the packed operand
  mlir::Type rightType;          // of its elements
  int64_t mostSteps = INT64_MAX; // of a product whose depth is known only when it runs
  bool rowsApart = false;        // rows lie at no distance of each other that is known
  bool stepsInOrder = false;     // where no loop has an order of its own, a step's loads come behind those before
  std::optional<graph::Quads> quads = std::nullopt; // what a step multiplies are quads of bytes

  int64_t lanes() const { return e.target.lanes(acc.getIntOrFloatBitWidth()); }
  // Columns in vectors, the last of them narrower where they do not come out even.
  llvm::SmallVector<int64_t> piecesOf(int64_t columns) const;
  // The same with a whole vector instead of a narrower one, where the panel has its columns: what lies behind the last
  // one is computed with, never stored. Vectors of one width leave the back end more registers.
  llvm::SmallVector<int64_t> wholePieces(llvm::ArrayRef<int64_t> pieces) const;
  // The sums with the last of each row's as wide as the last of these pieces; what is new is zero.
  llvm::SmallVector<mlir::Value> resized(mlir::ValueRange sums, llvm::ArrayRef<int64_t> pieces) const;
  llvm::SmallVector<mlir::Value> zeros(int64_t rows, llvm::ArrayRef<int64_t> pieces) const;
  // The same, or the bias of each column where there is one: nothing is to be added to them later.
  llvm::SmallVector<mlir::Value> firstSums(mlir::Value bias, mlir::Value firstColumn, int64_t rows,
                                           llvm::ArrayRef<int64_t> pieces) const;

  // A tile of few accumulators has several sets of them, for every so many-th step of the reduction: the next
  // multiply-add need not wait for the last one.
  int64_t setsFor(size_t accumulators, std::optional<int64_t> depth) const;
  llvm::SmallVector<mlir::Value> joinSets(llvm::ArrayRef<mlir::Value> sums, int64_t sets) const;

  llvm::SmallVector<mlir::Value> added(mlir::ValueRange x, mlir::ValueRange y) const;

  // Adds `count` times so many steps of the reduction to the sums, in blocks where one chain would be too long; where a
  // single time is, `body` sees to that.
  llvm::SmallVector<mlir::Value> inBlocks(mlir::Value count, int64_t steps, mlir::ValueRange sums, SumBody body,
                                          int64_t unit = 1, int64_t sets = 1) const;

  // Adds `length` steps of the reduction to the sums: row r of the left operand starts at element starts[r], the panels
  // that it is multiplied with at elements `panels`. The sums of a panel's rows follow those of the panel before.
  llvm::SmallVector<mlir::Value> multiply(mlir::Value left, mlir::Type leftType, llvm::ArrayRef<mlir::Value> starts,
                                          llvm::ArrayRef<mlir::Value> panels, mlir::Value length,
                                          llvm::ArrayRef<int64_t> pieces, int64_t sets, const Ahead &ahead,
                                          mlir::ValueRange sums) const;
  // The same where the left operand is packed: `height` rows side by side for every step, of which the first `rows`
  // from element `start` on count.
  llvm::SmallVector<mlir::Value> multiplyPacked(mlir::Value left, mlir::Type leftType, mlir::Value start,
                                                int64_t height, int64_t rows, mlir::Value panel, mlir::Value length,
                                                llvm::ArrayRef<int64_t> pieces, int64_t sets, const Ahead &ahead,
                                                mlir::ValueRange sums) const;

  // The same for a panel of whole groups side by side: every lane multiplies an element of its own group. A group has
  // `groupColumns` columns of the panel and `groupDepth` elements of a row, which are all steps of the reduction. In
  // pairs whose weights are swapped, a lane's own element comes first, then its neighbour's.
  llvm::SmallVector<mlir::Value> multiplyGroups(mlir::Value left, mlir::Type leftType,
                                                llvm::ArrayRef<mlir::Value> starts, int64_t groupColumns,
                                                int64_t groupDepth, bool swapsPairs, mlir::Value panel,
                                                llvm::ArrayRef<int64_t> pieces, mlir::ValueRange sums) const;

  // The same for all taps of a window along a row: each multiplies an element at one of `starts` with its own panel and
  // adds to a row of the sums. An element is spread over the lanes of its group once for all taps that read it.
  struct Tap {
    size_t start, panel, row;
  };
  llvm::SmallVector<mlir::Value> multiplyGroups(mlir::Value left, mlir::Type leftType,
                                                llvm::ArrayRef<mlir::Value> starts, llvm::ArrayRef<Tap> taps,
                                                int64_t groupColumns, int64_t groupDepth,
                                                llvm::ArrayRef<mlir::Value> panels, llvm::ArrayRef<int64_t> pieces,
                                                mlir::ValueRange sums) const;

  mlir::Value widen(mlir::Value x) const;

private:
  // A factor of the left operand as it is multiplied.
  mlir::Value leftFactor(mlir::Value x) const;
  mlir::Value add(mlir::Value x, mlir::Value y) const;
  mlir::Value fma(mlir::Value x, mlir::Value y, mlir::Value z) const;
  // For each of these lanes what `elements`, one or a vector of them, have there.
  mlir::Value takeLanes(mlir::Value elements, llvm::ArrayRef<int64_t> lanes) const;
  // One step of the reduction: a factor for each row and piece, as wide as the piece, times the panel's row that begins
  // `panelRow` elements behind `pointer`.
  using Factor = llvm::function_ref<mlir::Value(size_t row, size_t piece)>;
  void accumulate(int64_t rows, Factor factor, llvm::ArrayRef<int64_t> pieces, mlir::Value pointer,
                  mlir::Value panelRow, llvm::MutableArrayRef<mlir::Value> sums) const;
  // The same where a row has one factor for all columns.
  void accumulate(llvm::ArrayRef<mlir::Value> factors, llvm::ArrayRef<int64_t> pieces, mlir::Value pointer,
                  mlir::Value panelRow, llvm::MutableArrayRef<mlir::Value> sums) const;
  llvm::SmallVector<mlir::Value> pointersTo(llvm::ArrayRef<mlir::Value> panels) const;
  void prefetch(const Ahead &ahead, mlir::Value depth, int64_t steps) const;
  // The two products above for steps that are one chain.
  llvm::SmallVector<mlir::Value> multiplyChain(mlir::Value left, mlir::Type leftType,
                                               llvm::ArrayRef<mlir::Value> starts, llvm::ArrayRef<mlir::Value> panels,
                                               mlir::Value length, llvm::ArrayRef<int64_t> pieces, int64_t sets,
                                               const Ahead &ahead, mlir::ValueRange sums) const;
  llvm::SmallVector<mlir::Value> multiplyPackedChain(mlir::Value left, mlir::Type leftType, mlir::Value start,
                                                     int64_t height, int64_t rows, mlir::Value panel,
                                                     mlir::Value length, llvm::ArrayRef<int64_t> pieces, int64_t sets,
                                                     const Ahead &ahead, mlir::ValueRange sums) const;
  // Steps of the reduction, as many at a time as `counts` says, each of which divides the one before, down to one: in
  // the ordered loop first, if there is one.
  using Steps = llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value depth, int64_t count, mlir::ValueRange)>;
  llvm::SmallVector<mlir::Value> overDepth(mlir::Value length, llvm::ArrayRef<int64_t> counts, const Ahead &ahead,
                                           mlir::ValueRange sums, const std::optional<OrderedLoop> &ordered,
                                           Steps steps) const;
  // What a loop in a fixed order loads of the left operand, and which of these vectors has, in which lane, the factor
  // of a row at a step.
  struct LeftVectors {
    // Multiply-adds column by column need the fewest registers. Row by row, neighbours take their factor from the same
    // register: on Neoverse-V1, they start at half the rate where each takes it from another.
    bool byColumn = false;
    llvm::SmallVector<OrderedLoop::Stream> streams;
    llvm::SmallVector<OrderedLoop::Load> loads; // none: no such loop is possible
    std::function<std::pair<int64_t, int64_t>(int64_t row, int64_t step)> factor;
  };
  // A loop of so many steps an iteration, where the schedule wants one, and the target and the types have it.
  std::optional<OrderedLoop> ordered(LeftVectors left, int64_t rows, llvm::ArrayRef<mlir::Value> pointers,
                                     llvm::ArrayRef<int64_t> pieces, int64_t sets, int64_t steps,
                                     const Ahead &ahead) const;
};

} // namespace fathom
