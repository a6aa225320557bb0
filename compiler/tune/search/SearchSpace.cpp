// Which values knobs are tried at, and points that are legal.
#include "compiler/tune/search/SearchSpace.h"

#include <set>

using namespace mlir;

namespace fathom::tune {

// Flags have both values, and numbers those that the compiler's own candidates have, with the powers of two and halfway
// between them as far as the largest of these, and a bit beyond.
static std::vector<int64_t> valuesFor(const Knob &knob, const std::set<int64_t> &seen, int64_t least) {
  std::set<int64_t> values = seen;
  int64_t most = std::min(knob.max, 2 * std::max<int64_t>(seen.empty() ? least : *seen.rbegin(), 4));
  for (int64_t power = 1; power <= most; power *= 2)
    for (int64_t value : {power, power + power / 2})
      if (value >= knob.min && value <= most)
        values.insert(value);
  if (most <= 16)
    for (int64_t value = std::max(least, knob.min); value <= most; ++value)
      values.insert(value);
  if (knob.min == 0)
    values.insert(0);
  return {values.begin(), values.end()};
}

SearchSpace::SearchSpace(const KernelTask &task) : task(task) {
  std::vector<Knob> knobs = task.kernelClass().family.knobs();
  std::vector<std::set<int64_t>> seen(knobs.size());
  auto note = [&](const Schedule &schedule) {
    for (auto [i, knob] : llvm::enumerate(knobs)) {
      int64_t value = schedule.knobs[i].second, unit = knob.unit.empty() ? 1 : schedule.value(knob.unit);
      seen[i].insert(unit > 0 ? llvm::divideCeil(value, unit) : value);
    }
  };
  note(task.planned());
  task.space().enumerate(note);
  for (auto [i, knob] : llvm::enumerate(knobs)) {
    Dimension dimension{knob, -1, {}};
    for (auto [j, other] : llvm::enumerate(knobs))
      if (!knob.unit.empty() && other.name == knob.unit)
        dimension.unit = int(j);
    dimension.values = valuesFor(knob, seen[i], 1);
    dims.push_back(std::move(dimension));
  }
}

double SearchSpace::points() const {
  double count = 1;
  for (const Dimension &dimension : dims)
    count *= double(dimension.values.size());
  return count;
}

int64_t SearchSpace::valueAt(const Point &point, size_t dimension) const {
  const Dimension &dim = dims[dimension];
  int64_t value = dim.values[point[dimension]];
  return dim.unit < 0 ? value : value * valueAt(point, dim.unit);
}

Schedule SearchSpace::scheduleAt(const Point &point) const {
  Schedule schedule;
  for (auto [i, dim] : llvm::enumerate(dims))
    schedule.knobs.emplace_back(dim.knob.name.str(), valueAt(point, i));
  return schedule;
}

SearchSpace::Point SearchSpace::nearest(const Schedule &schedule) const {
  Point point(dims.size(), 0);
  for (auto [i, dim] : llvm::enumerate(dims)) {
    int64_t unit = dim.unit < 0 ? 1 : std::max<int64_t>(1, schedule.value(dims[dim.unit].knob.name));
    int64_t wanted = llvm::divideCeil(schedule.value(dim.knob.name), unit);
    auto above = llvm::lower_bound(dim.values, wanted);
    bool isBelow =
        above == dim.values.end() || (above != dim.values.begin() && wanted - *std::prev(above) < *above - wanted);
    point[i] = uint16_t((isBelow ? std::prev(above) : above) - dim.values.begin());
  }
  return point;
}

bool SearchSpace::isLegal(const Schedule &schedule) const {
  for (auto [dim, given] : llvm::zip_equal(dims, schedule.knobs))
    if (given.second < dim.knob.min || given.second > dim.knob.max)
      return false;
  return task.space().violation(schedule).empty();
}

std::optional<SearchSpace::Point> SearchSpace::any(Random &random, unsigned tries) const {
  Point point(dims.size(), 0);
  for (unsigned i = 0; i < tries; ++i) {
    for (auto [place, dim] : llvm::zip_equal(point, dims))
      place = uint16_t(random() % dim.values.size());
    if (isLegal(scheduleAt(point)))
      return point;
  }
  return std::nullopt;
}

std::optional<SearchSpace::Point> SearchSpace::beside(const Point &point, Random &random, unsigned tries) const {
  for (unsigned i = 0; i < tries; ++i) {
    Point other = point;
    // One knob mostly; where none is legal alone, several.
    for (unsigned changes = 1 + i / 64; changes > 0; --changes) {
      size_t which = random() % dims.size();
      int64_t count = dims[which].values.size(), step = random() % 4 ? 1 : 1 + random() % count;
      int64_t place = int64_t(other[which]) + (random() % 2 ? step : -step);
      other[which] = uint16_t(std::clamp<int64_t>(place, 0, count - 1));
    }
    if (other != point && isLegal(scheduleAt(other)))
      return other;
  }
  return std::nullopt;
}

} // namespace fathom::tune
