// Construction from the register tile up, after XFC, with the queue of Roller: a tile begins with one element and is
// grown level by level, one knob at a time, by what the level's memory is then waited for, as the draft has it. Nothing
// is enumerated: of every level a bounded number of tiles is visited, and the best are what the next one begins with.
// The judge is asked last, for the best of all.
#include "compiler/tune/search/Searches.h"

#include <map>
#include <queue>
#include <set>

using namespace mlir;

namespace fathom::tune {
namespace {

constexpr size_t mostVisits = 16000; // of all forms and levels together
constexpr size_t mostHints = 100;    // tiles that the next level begins with

// What a study leaves out. The knobs of such a level are grown with those of the next one.
struct Without {
  llvm::StringLiteral name;
  std::optional<Level> level = std::nullopt;
  bool alignment = false;
};

// Elements of a vector of what the kernel computes.
int64_t lanesOf(const KernelTask &task) {
  Operation *site = task.site();
  Type type = site->getNumResults() ? site->getResult(0).getType() : site->getOperand(0).getType();
  Type element = getElementTypeOrSelf(type);
  return task.target().lanes(element.isIntOrFloat() ? std::max(32u, element.getIntOrFloatBitWidth()) : 32);
}

class Construction {
public:
  using Point = SearchSpace::Point;

  Construction(Trials &trials, const Without &without, uint64_t seed)
      : trials(trials), space(trials.space), without(without), random(seed), lanes(lanesOf(space.task)) {}

  void run() {
    std::vector<Point> bases = forms();
    std::vector<Tile> found;
    for (const Point &base : bases) {
      std::vector<Tile> tiles{{0, 0, base}};
      for (Level level : {Level::Registers, Level::Cache, Level::Tasks, Level::Manner})
        if (level != without.level)
          tiles = grow(tiles, level, mostVisits / 4 / bases.size());
      llvm::append_range(found, tiles);
    }
    llvm::sort(found);
    trials.ask(inTurns(found));
  }

private:
  struct Tile {
    double cost, whole; // of the level; of all
    Point point;
    bool operator<(const Tile &other) const {
      return std::tie(cost, whole, point) < std::tie(other.cost, other.whole, other.point);
    }
    bool operator>(const Tile &other) const { return other < *this; }
    // The draft cannot tell them apart.
    bool isLike(const Tile &other) const { return cost == other.cost && whole == other.whole; }
  };

  bool isOf(size_t dimension, Level level) const {
    Level own = space.knobOf(dimension).level();
    return own == level || (own == without.level && int(level) == int(own) + 1);
  }

  // The best of every register tile, then the second best of each: where the judge knows better, it has a choice.
  std::vector<Point> inTurns(llvm::ArrayRef<Tile> tiles) const {
    std::map<Point, size_t> turns; // by what is decided first
    std::vector<std::pair<size_t, const Tile *>> order;
    for (const Tile &tile : tiles) {
      Point first = tile.point;
      for (size_t i = 0; i < first.size(); ++i)
        if (!isOf(i, Level::Form) && !isOf(i, Level::Registers))
          first[i] = 0;
      order.emplace_back(turns[first]++, &tile);
    }
    llvm::stable_sort(order, llvm::less_first());
    std::vector<Point> points;
    for (const auto &[turn, tile] : order)
      points.push_back(tile->point);
    return points;
  }

  bool isBeyond(size_t dimension, Level level) const {
    Level own = space.knobOf(dimension).level();
    return own > level && own != Level::Manner && !isOf(dimension, level);
  }

  // A tile of one element in every form that there is, within whatever is legal around it.
  std::vector<Point> forms() {
    std::vector<Point> points{Point(space.dimensions(), 0)}, legal;
    for (size_t i = 0; i < space.dimensions(); ++i)
      if (isOf(i, Level::Form))
        for (size_t known = points.size(), p = 0; p < known; ++p)
          for (size_t value = 1; value < space.valuesOf(i); ++value) {
            points.push_back(points[p]);
            points.back()[i] = uint16_t(value);
          }
    for (const Point &point : points)
      if (std::optional<Point> found = within(point, Level::Form))
        legal.push_back(*found);
    if (legal.empty())
      if (std::optional<Point> found = space.any(random))
        legal.push_back(*found);
    return legal;
  }

  // The tile as if it were alone: those of later levels around it are as large as they may be.
  std::optional<Point> within(Point point, Level level) const {
    auto setAll = [&](bool largest) {
      for (size_t i = 0; i < point.size(); ++i)
        if (isBeyond(i, level))
          point[i] = uint16_t(largest ? space.valuesOf(i) - 1 : 0);
      return isLegal(point);
    };
    if (setAll(true))
      return point;
    if (!setAll(false))
      return std::nullopt;
    for (size_t i = 0; i < point.size(); ++i)
      if (isBeyond(i, level)) {
        Point larger = point;
        for (larger[i] = uint16_t(space.valuesOf(i) - 1); larger[i] > 0 && !isLegal(larger);)
          --larger[i];
        point = larger;
      }
    return point;
  }

  // With a level's own knobs as small as they may be, to be grown.
  Point shrunk(Point point, Level level) const {
    for (size_t i = 0; i < point.size(); ++i) {
      Point smaller = point;
      if (isOf(i, level))
        for (smaller[i] = 0; smaller[i] < point[i] && !isLegal(smaller);)
          ++smaller[i];
      point = smaller;
    }
    return point;
  }

  // The best tiles that growing reaches, the cheapest first: always the cheapest that is known is grown next.
  std::vector<Tile> grow(const std::vector<Tile> &from, Level level, size_t visits) {
    std::priority_queue<Tile, std::vector<Tile>, std::greater<Tile>> queue;
    std::set<Point> known;
    std::vector<Tile> visited;
    auto add = [&](Tile tile) {
      if (known.insert(tile.point).second)
        queue.push(std::move(tile));
    };
    for (const Tile &tile : from)
      add(tileOf(shrunk(tile.point, level), level));
    while (!queue.empty() && visited.size() < visits) {
      visited.push_back(queue.top());
      queue.pop();
      tell(level, visited.back());
      for (size_t i = 0; i < space.dimensions(); ++i)
        if (isOf(i, level))
          if (std::optional<Tile> larger = grown(visited.back(), i, level))
            add(std::move(*larger));
    }
    llvm::sort(visited);
    visited.erase(llvm::unique(visited, [](const Tile &a, const Tile &b) { return a.isLike(b); }), visited.end());
    if (level != Level::Manner)
      visited.resize(std::min(visited.size(), mostHints));
    return visited;
  }

  // Whole vectors, or a half, a quarter and so on of one.
  bool isWhole(int64_t elements) const { return elements % lanes == 0 || lanes % elements == 0; }

  // The next legal value of a knob that the draft can tell from this one: of those that count a vector's elements an
  // aligned one, where there is any.
  std::optional<Tile> grown(const Tile &tile, size_t dimension, Level level) const {
    const Knob &knob = space.knobOf(dimension);
    bool isAligned = knob.relation.inVectors && !without.alignment;
    std::optional<Tile> partial;
    for (Point point = tile.point; point[dimension] + 1u < space.valuesOf(dimension);) {
      ++point[dimension];
      bool isTaken = !isAligned || isWhole(space.scheduleAt(point).value(knob.name));
      if (partial && !isTaken)
        continue;
      std::optional<Point> legal = isLegal(point) ? point : within(point, level);
      if (!legal)
        continue;
      Tile larger = tileOf(*legal, level);
      if (larger.isLike(tile))
        continue;
      if (isTaken)
        return larger;
      partial = std::move(larger);
    }
    return partial;
  }

  // What a level's tile decides, beside what the levels below it have decided.
  Tile tileOf(const Point &point, Level level) const {
    cost::Estimate e = space.task.space().estimate(space.scheduleAt(point));
    if (without.alignment)
      e.arithmetic -= e.tails, e.tails = 0;
    double whole = cost::overThreads(e, space.task.target());
    switch (level) {
    case Level::Form:
    case Level::Registers:
      return {e.arithmetic + e.results, whole, point};
    case Level::Cache:
      return {e.arithmetic + e.results + e.packing + e.movementFrom.front(), whole, point};
    case Level::Tasks:
    case Level::Manner:
      return {whole, whole, point};
    }
  }

  bool isLegal(const Point &point) const { return space.isLegal(space.scheduleAt(point)); }

  void tell(Level level, const Tile &tile) const {
    static constexpr llvm::StringLiteral names[] = {"form", "registers", "cache", "tasks", "manner"};
    if (trials.told)
      trials.told(
          llvm::formatv("{0}: {1:f0} cycles: {2}", names[int(level)], tile.cost, textOf(space.scheduleAt(tile.point)))
              .str());
  }

  Trials &trials;
  const SearchSpace &space;
  const Without &without;
  Random random;
  int64_t lanes;
};

class ConstructSearch final : public Search {
public:
  explicit ConstructSearch(const Without &without) : without(without) {}
  llvm::StringRef name() const override { return without.name; }
  llvm::StringRef meaning() const override { return "tiles grown from registers up, after XFC"; }

  void run(Trials &trials, const Schedule &, uint64_t seed) const override {
    Construction(trials, without, seed).run();
  }

private:
  Without without;
};

} // namespace

llvm::ArrayRef<const Search *> constructSearches() {
  static const ConstructSearch whole({"construct"}), noAlignment({"construct:no-alignment", std::nullopt, true}),
      noRegisters({"construct:no-registers", Level::Registers}), noCache({"construct:no-l1", Level::Cache}),
      noTasks({"construct:no-l2", Level::Tasks});
  static const Search *const list[] = {&whole, &noAlignment, &noRegisters, &noCache, &noTasks};
  return list;
}

} // namespace fathom::tune
