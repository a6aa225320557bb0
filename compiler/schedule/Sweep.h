// The schedules of kernels that pass over their data: how many elements are computed together, and what a task is. What
// is counted differs from one class to the next.
#pragma once

#include "compiler/schedule/Field.h"

namespace fathom {

struct SweepSchedule {
  int64_t lanes = 1;
  int64_t grain = 1;
};

constexpr int64_t mostLanes = 256;

// Entries of a table that tells where the elements of a resized axis come from: what it may take beside its code.
constexpr int64_t tableEntries = 1 << 14;

// Lanes along a padded dimension that are read together: at the ends of rows code has a copy of an element for each.
constexpr int64_t mostPaddedLanes = 16;

struct MapSchedule : SweepSchedule {
  int64_t shortLoop = 32;
  int64_t interleaved = 4;
  int64_t tables = tableEntries;
  int64_t paddedLanes = mostPaddedLanes;

  static llvm::ArrayRef<Field<MapSchedule>> fields();
};

inline llvm::ArrayRef<Field<MapSchedule>> MapSchedule::fields() {
  using S = MapSchedule;
  static constexpr Field<S> table[] = {
      Field<S>{"lanes", &S::lanes, 1, mostLanes, "elements computed together"}.inVectors(),
      {"short_loop", &S::shortLoop, 1, 1 << 20,
       "elements of the innermost loop below which the next loop joins it: finding a row's indices costs more", 2},
      {"interleaved", &S::interleaved, 0, 4,
       "the most elements of the innermost dimension, as an image's channels, for which vectors run along the next one "
       "and are put between each other",
       3},
      {"tables", &S::tables, 0, 1 << 20,
       "the most entries of a table that lanes along a resized axis look elements and weights up in, instead of "
       "computing them",
       3},
      {"padded_lanes", &S::paddedLanes, 1, mostLanes,
       "the most lanes along a padded dimension that are read together where all lie inside; more of them are read one "
       "by one",
       3},
      Field<S>{"grain", &S::grain, 1, mostPerTask, "elements of a task"}.partOf("all")};
  return table;
}

struct ConcatSchedule : SweepSchedule {
  static llvm::ArrayRef<Field<ConcatSchedule>> fields();
};

inline llvm::ArrayRef<Field<ConcatSchedule>> ConcatSchedule::fields() {
  using S = ConcatSchedule;
  static constexpr Field<S> table[] = {
      Field<S>{"lanes", &S::lanes, 1, mostLanes, "elements copied together"}.inVectors(),
      Field<S>{"grain", &S::grain, 1, mostPerTask, "rows of a task"}.partOf("all")};
  return table;
}

// Reductions, softmaxes, normalisations.
struct RowSchedule : SweepSchedule {
  int64_t fetchSteps = 8;

  static llvm::ArrayRef<Field<RowSchedule>> fields();
};

inline llvm::ArrayRef<Field<RowSchedule>> RowSchedule::fields() {
  using S = RowSchedule;
  static constexpr Field<S> table[] = {
      Field<S>{"lanes", &S::lanes, 1, mostLanes, "elements combined together"}.inVectors(),
      {"fetch_steps", &S::fetchSteps, 0, 1024,
       "steps ahead of which lines are fetched, where every step reads a few of a row and passes the others", 2},
      Field<S>{"grain", &S::grain, 1, mostPerTask, "rows, or elements along kept lanes, of a task"}.partOf("all")};
  return table;
}

struct PoolSchedule : SweepSchedule {
  static llvm::ArrayRef<Field<PoolSchedule>> fields();
};

inline llvm::ArrayRef<Field<PoolSchedule>> PoolSchedule::fields() {
  using S = PoolSchedule;
  static constexpr Field<S> table[] = {
      Field<S>{"lanes", &S::lanes, 1, mostLanes, "channels computed together"}.inVectors(),
      Field<S>{"grain", &S::grain, 1, mostPerTask, "windows of a task"}.partOf("all")};
  return table;
}

struct ScanSchedule : SweepSchedule {
  static llvm::ArrayRef<Field<ScanSchedule>> fields();
};

inline llvm::ArrayRef<Field<ScanSchedule>> ScanSchedule::fields() {
  using S = ScanSchedule;
  static constexpr Field<S> table[] = {
      Field<S>{"lanes", &S::lanes, 1, mostLanes,
               "elements summed up together: of a row, or of as many rows side by side"}
          .inVectors(),
      Field<S>{"grain", &S::grain, 1, mostPerTask, "rows, or elements along kept lanes, of a task"}.partOf("all")};
  return table;
}

// Rows that are written into a cache.
struct TensorScatterSchedule : SweepSchedule {
  static llvm::ArrayRef<Field<TensorScatterSchedule>> fields();
};

inline llvm::ArrayRef<Field<TensorScatterSchedule>> TensorScatterSchedule::fields() {
  using S = TensorScatterSchedule;
  static constexpr Field<S> table[] = {
      Field<S>{"lanes", &S::lanes, 1, mostLanes, "elements of a row that are moved together"}.inVectors(),
      Field<S>{"grain", &S::grain, 1, mostPerTask, "independent rows of a task"}.partOf("all")};
  return table;
}

// Scatters, sorts and others that go element by element have no lanes.
struct SequentialSchedule : SweepSchedule {
  static llvm::ArrayRef<Field<SequentialSchedule>> fields();
};

inline llvm::ArrayRef<Field<SequentialSchedule>> SequentialSchedule::fields() {
  using S = SequentialSchedule;
  static constexpr Field<S> table[] = {
      Field<S>{"grain", &S::grain, 1, mostPerTask, "independent rows of a task"}.partOf("all")};
  return table;
}

} // namespace fathom
