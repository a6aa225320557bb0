// Coordinate descent: from the best of a sample, every knob in turn is moved while that makes the schedule cheaper.
// Alone it rests where two knobs would have to move together, which the sample is for (as in Droplet Search).
#include "compiler/tune/search/Searches.h"

namespace fathom::tune {
namespace {

constexpr size_t reach = 6; // values of a knob to either side that are tried together

class DescentSearch final : public Search {
public:
  llvm::StringRef name() const override { return "descent"; }
  llvm::StringRef meaning() const override { return "coordinate descent from the best of a sample"; }

  void run(Trials &trials, const Schedule &start, uint64_t seed) const override {
    Random random(seed);
    for (unsigned stale = 0; !trials.isOver() && stale < 20;) {
      size_t before = trials.judged.size();
      std::vector<SearchSpace::Point> sample;
      if (before == 0)
        sample.push_back(trials.space.nearest(start));
      for (size_t i = std::max<size_t>(1, trials.left() / 4); i > 0; --i)
        if (std::optional<SearchSpace::Point> point = trials.space.any(random))
          sample.push_back(*point);
      std::vector<double> costs = trials.ask(sample);
      auto least = std::min_element(costs.begin(), costs.end());
      if (least != costs.end())
        descend(trials, sample[least - costs.begin()], *least);
      stale = trials.judged.size() == before ? stale + 1 : 0;
    }
  }

private:
  static void descend(Trials &trials, SearchSpace::Point point, double cost) {
    for (bool isBetter = true; isBetter && !trials.isOver();) {
      isBetter = false;
      for (size_t i = 0; i < trials.space.dimensions() && !trials.isOver(); ++i) {
        std::vector<SearchSpace::Point> line = neighbours(trials.space, point, i);
        std::vector<double> costs = trials.ask(line);
        auto least = std::min_element(costs.begin(), costs.end());
        if (least != costs.end() && *least < cost) {
          cost = *least, isBetter = true;
          point = line[least - costs.begin()];
        }
      }
    }
  }

  // The next values of a knob to either side that are legal.
  static std::vector<SearchSpace::Point> neighbours(const SearchSpace &space, const SearchSpace::Point &point,
                                                    size_t dimension) {
    std::vector<SearchSpace::Point> found;
    for (int step : {-1, 1}) {
      SearchSpace::Point other = point;
      size_t count = 0;
      for (int64_t place = point[dimension] + step;
           place >= 0 && place < int64_t(space.valuesOf(dimension)) && count < reach; place += step) {
        other[dimension] = uint16_t(place);
        if (space.isLegal(space.scheduleAt(other)))
          found.push_back(other), ++count;
      }
    }
    return found;
  }
};

} // namespace

const Search &descentSearch() {
  static const DescentSearch search;
  return search;
}

} // namespace fathom::tune
