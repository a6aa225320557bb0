// AutoTVM's search: boosted trees that rank schedules are fitted anew for every plan of 64; simulated annealing finds
// what they rank first, and a twentieth of a plan is by chance.
#include "compiler/tune/search/LearnedCost.h"
#include "compiler/tune/search/Searches.h"

#include <queue>
#include <set>

namespace fathom::tune {
namespace {

using Point = SearchSpace::Point;

constexpr size_t planSize = 64, byChance = planSize / 20;
constexpr size_t chains = 128;
constexpr unsigned mostSteps = 500, patience = 50;

// Chains go on in the next plan where they stood.
class Annealing {
public:
  Annealing(const SearchSpace &space, Random &random) : space(space), random(random) {}

  // So many points that are not known yet and for which most is predicted, the best first.
  std::vector<Point> find(LearnedCost &model, size_t count) {
    while (points.size() < chains)
      if (std::optional<Point> point = space.any(random))
        points.push_back(*point);
      else
        return {};
    Best best(model, count);
    std::vector<float> scores = model.predict(points);
    best.add(points, scores);
    double temperature = 1, cooling = 1.0 / (mostSteps + 1);
    for (unsigned step = 0, since = 0; step < mostSteps && since < patience; ++step, ++since, temperature -= cooling) {
      std::vector<Point> moved;
      for (const Point &point : points)
        moved.push_back(walk(point));
      std::vector<float> movedScores = model.predict(moved);
      for (size_t i = 0; i < points.size(); ++i) {
        double accept = std::exp(std::min((movedScores[i] - scores[i]) / (temperature + 1e-5), 1.0));
        if (std::uniform_real_distribution<double>()(random) < accept)
          points[i] = moved[i], scores[i] = movedScores[i];
      }
      if (best.add(moved, movedScores))
        since = 0;
    }
    return best.inOrder();
  }

private:
  class Best {
  public:
    Best(LearnedCost &model, size_t count) : model(model), count(count) {}

    bool add(llvm::ArrayRef<Point> points, llvm::ArrayRef<float> scores) {
      bool isChanged = false;
      for (auto [point, score] : llvm::zip_equal(points, scores)) {
        if (kept.size() == count && score <= kept.begin()->first)
          continue;
        if (model.isKnown(point) || !places.insert(point).second)
          continue;
        kept.emplace(score, point);
        isChanged = true;
        if (kept.size() > count) {
          places.erase(kept.begin()->second);
          kept.erase(kept.begin());
        }
      }
      return isChanged;
    }
    std::vector<Point> inOrder() const {
      std::vector<Point> points;
      for (const auto &[score, point] : llvm::reverse(kept))
        points.push_back(point);
      return points;
    }

  private:
    LearnedCost &model;
    size_t count;
    std::set<std::pair<float, Point>> kept;
    std::set<Point> places;
  };

  // One knob gets another value, whichever; where that is not legal, others are tried, and then none.
  Point walk(const Point &point) {
    for (unsigned tries = 0; tries < 32; ++tries) {
      Point other = point;
      size_t which = random() % other.size();
      other[which] = uint16_t(random() % space.valuesOf(which));
      if (other != point && space.isLegal(space.scheduleAt(other)))
        return other;
    }
    return point;
  }

  const SearchSpace &space;
  Random &random;
  std::vector<Point> points;
};

class AutoTvmSearch final : public Search {
public:
  AutoTvmSearch(llvm::StringLiteral name, FeatureKind kind) : ownName(name), kind(kind) {}
  llvm::StringRef name() const override { return ownName; }
  llvm::StringRef meaning() const override { return "boosted trees and simulated annealing, after AutoTVM"; }
  llvm::Error problem() const override { return BoostedTrees::missing(); }

  void run(Trials &trials, const Schedule &start, uint64_t seed) const override {
    Random random(seed);
    LearnedCost model(trials, kind);
    Annealing annealing(trials.space, random);
    std::vector<Point> plan{trials.space.nearest(start)};
    // What other kernels taught says where to begin.
    if (trials.history && !trials.history->rows.empty())
      llvm::append_range(plan, annealing.find(model, planSize - byChance - 1));
    for (unsigned stale = 0; !trials.isOver() && stale < 20;) {
      size_t size = std::min(planSize, trials.left());
      plan.resize(std::min(plan.size(), planSize - byChance));
      for (size_t tries = 0; plan.size() < size && tries < 4 * planSize; ++tries)
        if (std::optional<Point> point = trials.space.any(random); point && !model.isKnown(*point))
          plan.push_back(*point);
      size_t before = trials.judged.size();
      model.ask(llvm::ArrayRef(plan).take_front(size));
      stale = trials.judged.size() == before ? stale + 1 : 0;
      if (trials.isOver())
        return;
      model.fit(planSize);
      plan = annealing.find(model, planSize - byChance);
    }
  }

private:
  llvm::StringLiteral ownName;
  FeatureKind kind;
};

} // namespace

llvm::ArrayRef<const Search *> autoTvmSearches() {
  static const AutoTvmSearch axes("autotvm", FeatureKind::Axes), curves("autotvm:curves", FeatureKind::Curves),
      knobs("autotvm:knobs", FeatureKind::Knobs);
  static const Search *const list[] = {&axes, &curves, &knobs};
  return list;
}

} // namespace fathom::tune
