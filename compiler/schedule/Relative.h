// Schedules whose sizes are said relatively, so that they can be carried to other sizes and machines.
#pragma once

#include "compiler/schedule/Schedule.h"
#include "compiler/target/Target.h"

namespace fathom {

// The size of a knob: so many elements (or rows, panels, ...: whatever the knob counts), or so many vectors.
struct RelativeSize {
  enum class Unit { One, Vector };
  int64_t count = 0;
  Unit unit = Unit::One;

  bool operator==(const RelativeSize &) const = default;
};

struct RelativeSchedule {
  llvm::SmallVector<std::pair<std::string, RelativeSize>, 8> knobs;

  bool operator==(const RelativeSchedule &) const = default;
};

// "tile_m: 4, tile_n: 2 vectors", and back; nothing where a text is not of this form.
std::string print(const RelativeSchedule &schedule);
std::optional<RelativeSchedule> parseRelative(llvm::StringRef text);

// What sizes are relative to.
struct Scale {
  int64_t lanes = 1; // of a vector
};

Schedule resolve(const RelativeSchedule &schedule, const Scale &scale);

} // namespace fathom
