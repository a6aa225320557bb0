// Schedules whose sizes are said relatively (a fraction of an extent, a number of vectors, a share of a cache), so that
// they can be carried to other problems and machines. What a knob is relative to is declared with it (Field.h).
#pragma once

#include "compiler/schedule/Field.h"
#include <functional>
#include <optional>

namespace fathom {

// numerator / denominator of a unit: "" (whatever the knob counts), "vectors", "cache1", or the name of an extent.
struct RelativeSize {
  int64_t numerator = 0, denominator = 1;
  std::string unit = {};

  bool operator==(const RelativeSize &) const = default;
};

struct RelativeSchedule {
  llvm::SmallVector<std::pair<std::string, RelativeSize>, 8> knobs; // in the order of the class's knobs

  bool operator==(const RelativeSchedule &) const = default;
};

// "tile_m: 4, tile_n: 2 vectors, block_k: 3/8 cache1, task_m: 1/16 rows", and back; nothing where a text is not of this
// form.
std::string print(const RelativeSchedule &schedule);
std::optional<RelativeSchedule> parseRelative(llvm::StringRef text);

// The extents of a problem by their names. Some depend on a schedule: how many panels there are is for its width to
// say.
using Extents = llvm::SmallVector<std::pair<llvm::StringLiteral, int64_t>, 4>;

// What sizes are relative to.
struct Scale {
  int64_t lanes = 1;                          // of a vector
  llvm::SmallVector<int64_t> cacheBytes = {}; // of the levels, the first one first
  std::function<Extents(const Schedule &)> extents = {};
};

// Resolving it by the same scale gives the schedule again, if its values are in their ranges and multiples of their
// units.
RelativeSchedule relativeTo(const Schedule &schedule, llvm::ArrayRef<Knob> knobs, const Scale &scale);
// Fractions are rounded up, and then up to a multiple of the knob's unit. Units that there are not are those of knobs:
// an extent that the problem lacks is 1.
Schedule resolve(const RelativeSchedule &schedule, llvm::ArrayRef<Knob> knobs, const Scale &scale);

} // namespace fathom
