// A genetic algorithm: the cheaper half of a generation has children, which take each knob from either parent, and are
// changed a little.
#include "compiler/tune/search/Searches.h"

namespace fathom::tune {
namespace {

constexpr size_t generation = 32;

class GeneticSearch final : public Search {
public:
  llvm::StringRef name() const override { return "genetic"; }
  llvm::StringRef meaning() const override { return "children of cheap schedules, with small changes"; }

  void run(Trials &trials, const Schedule &start, uint64_t seed) const override {
    Random random(seed);
    std::vector<Member> members;
    std::vector<SearchSpace::Point> points{trials.space.nearest(start)};
    while (points.size() < generation)
      if (std::optional<SearchSpace::Point> point = trials.space.any(random))
        points.push_back(*point);
      else
        break;
    for (unsigned stale = 0; !trials.isOver() && stale < 20;) {
      size_t before = trials.judged.size();
      for (auto [point, cost] : llvm::zip_equal(points, trials.ask(points)))
        members.push_back({point, cost});
      stale = trials.judged.size() == before ? stale + 1 : 0;
      std::vector<size_t> order = byCost(members.size(), [&](size_t i) { return members[i].cost; });
      std::vector<Member> fittest;
      for (size_t i : llvm::ArrayRef(order).take_front(generation / 2))
        fittest.push_back(members[i]);
      members = std::move(fittest);
      points.clear();
      while (points.size() < generation / 2)
        points.push_back(child(trials.space, members, random));
    }
  }

private:
  struct Member {
    SearchSpace::Point point;
    double cost;
  };

  static SearchSpace::Point child(const SearchSpace &space, const std::vector<Member> &members, Random &random) {
    const SearchSpace::Point &mother = members[random() % members.size()].point;
    const SearchSpace::Point &father = members[random() % members.size()].point;
    SearchSpace::Point point = mother;
    for (size_t i = 0; i < point.size(); ++i)
      if (random() % 2)
        point[i] = father[i];
    if (!space.isLegal(space.scheduleAt(point)))
      point = mother;
    return space.beside(point, random).value_or(point);
  }
};

} // namespace

const Search &geneticSearch() {
  static const GeneticSearch search;
  return search;
}

} // namespace fathom::tune
