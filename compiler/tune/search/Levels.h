// Which tile each knob makes larger: that in registers, that in the first-level cache, or that of a task.
#pragma once

#include "llvm/ADT/StringRef.h"
#include <optional>

namespace fathom::tune {

enum class Level {
  Form,      // which loops there are; none is larger than another
  Registers, // what is computed together
  Cache,     // what stays in the first-level cache
  Tasks,     // what a thread takes at a time, which stays in the second-level cache
  Manner,    // how, where all tiles are known: what is fetched or loaded ahead, where rows lie
};

// None for a name that no knob has.
std::optional<Level> levelOf(llvm::StringRef knob);
// Whether it counts elements of vectors, so that a tile of whole vectors is a multiple of the lanes.
bool countsLanes(llvm::StringRef knob);

} // namespace fathom::tune
