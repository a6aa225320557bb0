// Evolution strategies as Tuna has them (after OpenAI's): a point of numbers moves along the average of normal steps,
// each weighted by how cheap the schedule there is. Costs count by rank, and the cheapest draws most: with the sign
// that is printed in Tuna's paper the point would climb.
#include "compiler/tune/search/Searches.h"

#include <cmath>

namespace fathom::tune {
namespace {

constexpr size_t population = 16; // steps at a time
constexpr double width = 0.18;    // of a step, in shares of a knob's list of values
constexpr double rate = 2;        // by which the point follows their average

class EvolutionSearch final : public Search {
public:
  llvm::StringRef name() const override { return "evolution"; }
  llvm::StringRef meaning() const override { return "evolution strategies, as Tuna has them"; }

  void run(Trials &trials, const Schedule &start, uint64_t seed) const override {
    Random random(seed);
    const SearchSpace &space = trials.space;
    std::optional<SearchSpace::Point> from = space.nearest(start);
    trials.ask({*from});
    // From the compiler's own choice, then from elsewhere, where the last one came to rest.
    for (unsigned stale = 0; from && !trials.isOver() && stale < 20; from = space.any(random)) {
      size_t before = trials.judged.size();
      evolve(trials, *from, random);
      stale = trials.judged.size() == before ? stale + 1 : 0;
    }
  }

private:
  static void evolve(Trials &trials, const SearchSpace::Point &from, Random &random) {
    const SearchSpace &space = trials.space;
    std::vector<double> centre(space.dimensions());
    for (auto [i, place] : llvm::enumerate(from))
      centre[i] = (place + 0.5) / double(space.valuesOf(i));
    std::normal_distribution<double> normal;
    for (unsigned resting = 0; resting < 3 && !trials.isOver();) {
      std::vector<std::vector<double>> steps;
      std::vector<SearchSpace::Point> points;
      for (unsigned tries = 0; points.size() < population && tries < 20 * population; ++tries) {
        std::vector<double> step(centre.size());
        for (double &part : step)
          part = normal(random);
        SearchSpace::Point point = pointAt(space, centre, step);
        if (!space.isLegal(space.scheduleAt(point)))
          continue;
        steps.push_back(std::move(step)), points.push_back(std::move(point));
      }
      size_t before = trials.judged.size();
      move(centre, steps, trials.ask(points));
      resting = trials.judged.size() == before ? resting + 1 : 0;
    }
  }

  static SearchSpace::Point pointAt(const SearchSpace &space, const std::vector<double> &centre,
                                    const std::vector<double> &step) {
    SearchSpace::Point point(centre.size(), 0);
    for (size_t i = 0; i < centre.size(); ++i) {
      double count = double(space.valuesOf(i)), place = std::floor((centre[i] + width * step[i]) * count);
      point[i] = uint16_t(std::clamp(place, 0.0, count - 1));
    }
    return point;
  }

  static void move(std::vector<double> &centre, const std::vector<std::vector<double>> &steps,
                   const std::vector<double> &costs) {
    if (steps.size() < 2)
      return;
    std::vector<size_t> order = byCost(steps.size(), [&](size_t i) { return costs[i]; });
    for (auto [rank, which] : llvm::enumerate(order)) {
      // From 1 for the cheapest to -1.
      double fitness = 1 - 2 * double(rank) / double(order.size() - 1);
      for (size_t i = 0; i < centre.size(); ++i)
        centre[i] += rate * width / double(steps.size()) * fitness * steps[which][i];
    }
    for (double &part : centre)
      part = std::clamp(part, 0.0, 0.999);
  }
};

} // namespace

const Search &evolutionSearch() {
  static const EvolutionSearch search;
  return search;
}

} // namespace fathom::tune
