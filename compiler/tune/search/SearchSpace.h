// The whole space of a kernel's schedules: every knob with the values that it is tried at, whatever the compiler looks
// at by itself. A point says for each knob which of
// them; points whose schedule is not legal are passed over.
#pragma once

#include "compiler/tune/task/KernelTask.h"
#include <random>

namespace fathom::tune {

using Random = std::mt19937_64;

class SearchSpace {
public:
  // A place in each knob's list of values.
  using Point = llvm::SmallVector<uint16_t, 16>;

  explicit SearchSpace(const KernelTask &task);

  size_t dimensions() const { return dims.size(); }
  size_t valuesOf(size_t dimension) const { return dims[dimension].values.size(); }
  const Knob &knobOf(size_t dimension) const { return dims[dimension].knob; }
  // How many points there are, legal or not.
  double points() const;

  Schedule scheduleAt(const Point &point) const;
  // The point whose schedule is closest to one, knob by knob.
  Point nearest(const Schedule &schedule) const;
  bool isLegal(const Schedule &schedule) const;

  // A legal point by chance, each equally likely; none where so many tries find none.
  std::optional<Point> any(Random &random, unsigned tries = 200000) const;
  // A legal point that differs in one or a few knobs; none where so many tries find none.
  std::optional<Point> beside(const Point &point, Random &random, unsigned tries = 1000) const;

  const KernelTask &task;

private:
  struct Dimension {
    Knob knob;
    int unit = -1;               // the dimension whose value this one's is a multiple of
    std::vector<int64_t> values; // ascending; of one with a unit: multiples of it
  };
  int64_t valueAt(const Point &point, size_t dimension) const;

  std::vector<Dimension> dims;
};

} // namespace fathom::tune
