// What a schedule is by numbers, for models that learn what schedules cost. Axes and curves are AutoTVM's, of the loops
// that the schedule's code has.
#pragma once

#include "compiler/tune/search/BoostedTrees.h"
#include "compiler/tune/search/SearchSpace.h"

namespace fathom::tune {

enum class FeatureKind {
  Knobs, // the values themselves
  Axes,  // of the loops that run most: length, place, arithmetic, and how they touch each buffer
  Curves // how often data is used again over how much of it there is: the same for all kernels
};

// Rows of one kind and kernel have the same length; those of curves have it for all kernels. Calls may run side by
// side.
FeatureRow featuresOf(const SearchSpace &space, const SearchSpace::Point &point, FeatureKind kind);

} // namespace fathom::tune
