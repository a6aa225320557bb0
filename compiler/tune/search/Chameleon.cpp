// Chameleon's search (Ahn et al.): a policy walks through the space by what a learned model says of where it comes to,
// and of what it visited only what stands for clusters is judged.
#include "compiler/tune/search/LearnedCost.h"
#include "compiler/tune/search/Policy.h"
#include "compiler/tune/search/Searches.h"

#include <set>

namespace fathom::tune {
namespace {

using Point = SearchSpace::Point;

constexpr size_t walkers = 16, planSize = 64;
constexpr unsigned mostSteps = 500, roundSteps = 32; // of a plan; between lessons
constexpr double stuckShare = 0.75;                  // of knobs, at which a walk is over
constexpr double knee = 2.5;                         // more clusters must lessen the loss by this

class Exploration {
public:
  Exploration(const SearchSpace &space, Random &random)
      : space(space), random(random), policy(space.dimensions(), random) {}

  // What walks from the best visited, each point once, with what is predicted there.
  std::map<Point, float> walk(LearnedCost &model, std::vector<Point> at) {
    std::map<Point, float> visited;
    for (unsigned steps = 0; steps < mostSteps && !at.empty(); steps += roundSteps) {
      std::vector<Policy::Walk> walks(at.size());
      std::vector<bool> isOver(at.size());
      for (unsigned step = 0; step < roundSteps; ++step) {
        std::vector<size_t> moving;
        std::vector<Point> moved;
        for (size_t w = 0; w < at.size(); ++w) {
          if (isOver[w])
            continue;
          walks[w].transitions.push_back(policy.act(stateOf(at[w]), random));
          Point next = follow(at[w], walks[w].transitions.back().actions);
          size_t same = 0;
          for (auto [a, b] : llvm::zip_equal(next, at[w]))
            same += a == b;
          isOver[w] = double(same) >= stuckShare * double(next.size());
          at[w] = next;
          moving.push_back(w), moved.push_back(next);
        }
        for (auto [w, point, score] : llvm::zip_equal(moving, moved, model.predict(moved)))
          walks[w].transitions.back().reward = score, visited.emplace(point, score);
      }
      for (auto [walk, point] : llvm::zip_equal(walks, at))
        walk.end = stateOf(point);
      policy.learn(std::move(walks), random);
    }
    return visited;
  }

private:
  std::vector<double> stateOf(const Point &point) const {
    std::vector<double> state;
    for (size_t i = 0; i < point.size(); ++i)
      state.push_back(double(point[i]) / double(space.valuesOf(i)));
    return state;
  }

  // As far as that is legal: where the whole is not, knobs move that may move alone.
  Point follow(const Point &point, llvm::ArrayRef<int> actions) const {
    auto moved = [&](Point from, size_t i) {
      from[i] = uint16_t(std::clamp<int>(int(from[i]) + actions[i] - 1, 0, int(space.valuesOf(i)) - 1));
      return from;
    };
    Point all = point;
    for (size_t i = 0; i < point.size(); ++i)
      all = moved(std::move(all), i);
    if (space.isLegal(space.scheduleAt(all)))
      return all;
    Point next = point;
    for (size_t i = 0; i < point.size(); ++i)
      if (Point other = moved(next, i); other != next && space.isLegal(space.scheduleAt(other)))
        next = other;
    return next;
  }

  const SearchSpace &space;
  Random &random;
  Policy policy;
};

// Samples that stand for what was visited: centres of clusters by the two knobs with the most values.
class Sampling {
public:
  Sampling(const SearchSpace &space, const std::map<Point, float> &visited, Random &random)
      : space(space), visited(visited), random(random) {
    std::vector<size_t> order = byCost(space.dimensions(), [&](size_t i) { return -double(space.valuesOf(i)); });
    first = order[0], second = order[order.size() > 1];
    for (const auto &[point, score] : visited)
      points.push_back(point);
  }

  std::vector<Point> samples(LearnedCost &model) {
    std::set<Point> chosen;
    for (const auto &[x, y] : centres())
      if (std::optional<Point> point = nearestOrMade(model, x, y, chosen))
        chosen.insert(*point);
    return {chosen.begin(), chosen.end()};
  }

private:
  using Centre = std::pair<double, double>;

  double distance(const Point &point, double x, double y) const {
    double dx = double(point[first]) - x, dy = double(point[second]) - y;
    return dx * dx + dy * dy;
  }

  // More clusters as long as they lessen the loss much.
  std::vector<Centre> centres() {
    std::vector<Centre> best;
    double last = 0;
    for (size_t count = 8; count <= planSize && count <= points.size(); count += 8) {
      auto [centres, loss] = cluster(count);
      if (!best.empty() && loss >= last / knee)
        break;
      best = std::move(centres), last = loss;
    }
    if (best.empty())
      for (const Point &point : points)
        best.emplace_back(point[first], point[second]);
    return best;
  }

  std::pair<std::vector<Centre>, double> cluster(size_t count) {
    std::vector<Centre> centres;
    for (size_t i = 0; i < count; ++i) {
      const Point &point = points[random() % points.size()];
      centres.emplace_back(point[first], point[second]);
    }
    double loss = 0;
    for (unsigned round = 0; round < 20; ++round) {
      std::vector<Centre> sums(count);
      std::vector<size_t> members(count);
      loss = 0;
      for (const Point &point : points) {
        size_t nearest = 0;
        double least = noCost;
        for (size_t i = 0; i < count; ++i)
          if (double away = distance(point, centres[i].first, centres[i].second); away < least)
            nearest = i, least = away;
        loss += least;
        sums[nearest].first += point[first], sums[nearest].second += point[second], ++members[nearest];
      }
      for (size_t i = 0; i < count; ++i)
        if (members[i])
          centres[i] = {sums[i].first / double(members[i]), sums[i].second / double(members[i])};
    }
    return {centres, loss};
  }

  // What was visited there and is predicted best; where all of that is known, one whose other knobs are made of
  // others'.
  std::optional<Point> nearestOrMade(LearnedCost &model, double x, double y, const std::set<Point> &chosen) {
    auto isNew = [&](const Point &point) { return !model.isKnown(point) && !chosen.count(point); };
    const Point *nearest = nullptr;
    std::pair<double, float> least(noCost, 0);
    for (const auto &[point, score] : visited)
      if (std::pair now(distance(point, x, y), -score); now < least && isNew(point))
        nearest = &point, least = now;
    if (nearest && least.first < 2)
      return *nearest;
    for (unsigned tries = 0; tries < 64; ++tries) {
      Point made(space.dimensions(), 0);
      for (size_t i = 0; i < made.size(); ++i)
        made[i] = points[random() % points.size()][i];
      made[first] = uint16_t(std::lround(x)), made[second] = uint16_t(std::lround(y));
      if (isNew(made) && space.isLegal(space.scheduleAt(made)))
        return made;
    }
    return nearest ? std::optional(*nearest) : std::nullopt;
  }

  const SearchSpace &space;
  const std::map<Point, float> &visited;
  Random &random;
  size_t first, second;
  std::vector<Point> points;
};

class ChameleonSearch final : public Search {
public:
  ChameleonSearch(llvm::StringLiteral name, FeatureKind kind) : ownName(name), kind(kind) {}
  llvm::StringRef name() const override { return ownName; }
  llvm::StringRef meaning() const override { return "a policy that walks, and samples of clusters, after Chameleon"; }
  llvm::Error problem() const override { return BoostedTrees::missing(); }

  void run(Trials &trials, const Schedule &start, uint64_t seed) const override {
    Random random(seed);
    LearnedCost model(trials, kind);
    Exploration exploration(trials.space, random);
    std::vector<Point> plan{trials.space.nearest(start)};
    for (unsigned stale = 0; !trials.isOver() && stale < 20;) {
      size_t size = std::min(stale || model.count() == 0 ? planSize : plan.size(), trials.left());
      for (size_t tries = 0; plan.size() < size && tries < 4 * planSize; ++tries)
        if (std::optional<Point> point = trials.space.any(random); point && !model.isKnown(*point))
          plan.push_back(*point);
      size_t before = trials.judged.size();
      model.ask(llvm::ArrayRef(plan).take_front(size));
      stale = trials.judged.size() == before ? stale + 1 : 0;
      if (trials.isOver())
        return;
      model.fit(planSize);
      std::vector<Point> from;
      for (const Judged &judged : trials.best(walkers))
        from.push_back(trials.space.nearest(judged.schedule));
      std::map<Point, float> visited = exploration.walk(model, std::move(from));
      plan = visited.empty() ? std::vector<Point>() : Sampling(trials.space, visited, random).samples(model);
    }
  }

private:
  llvm::StringLiteral ownName;
  FeatureKind kind;
};

} // namespace

llvm::ArrayRef<const Search *> chameleonSearches() {
  static const ChameleonSearch axes("chameleon", FeatureKind::Axes), knobs("chameleon:knobs", FeatureKind::Knobs);
  static const Search *const list[] = {&axes, &knobs};
  return list;
}

} // namespace fathom::tune
