// What searches share, and their list.
#include "compiler/tune/search/Search.h"

#include "compiler/tune/search/Searches.h"

using namespace mlir;

namespace fathom::tune {

std::string textOf(const Schedule &schedule) {
  std::string text;
  for (const auto &[name, value] : schedule.knobs)
    text += (text.empty() ? "" : " ") + name + '=' + std::to_string(value);
  return text;
}

std::vector<double> Trials::ask(ArrayRef<SearchSpace::Point> points) {
  std::vector<Schedule> fresh;
  std::vector<std::string> texts;
  for (const SearchSpace::Point &point : points) {
    Schedule schedule = space.scheduleAt(point);
    texts.push_back(textOf(schedule));
    if (fresh.size() < left() && known.try_emplace(texts.back(), noCost).second)
      fresh.push_back(std::move(schedule));
  }
  std::vector<double> costs = judge.costs(fresh);
  for (auto [schedule, cost] : llvm::zip_equal(fresh, costs)) {
    known[textOf(schedule)] = cost;
    judged.push_back({std::move(schedule), cost});
  }
  std::vector<double> result;
  for (const std::string &text : texts) {
    auto found = known.find(text);
    result.push_back(found == known.end() ? noCost : found->second);
  }
  return result;
}

std::vector<Judged> Trials::best(size_t count) const {
  std::vector<size_t> order = byCost(judged.size(), [&](size_t i) { return judged[i].cost; });
  std::vector<Judged> sorted;
  for (size_t i : ArrayRef(order).take_front(count))
    sorted.push_back(judged[i]);
  return sorted;
}

ArrayRef<const Search *> allSearches() {
  static const std::vector<const Search *> list = [] {
    std::vector<const Search *> list{&randomSearch(), &descentSearch(), &evolutionSearch(), &geneticSearch()};
    llvm::append_range(list, constructSearches());
    llvm::append_range(list, autoTvmSearches());
    llvm::append_range(list, chameleonSearches());
    return list;
  }();
  return list;
}

const Search *findSearch(StringRef name) {
  auto found = llvm::find_if(allSearches(), [&](const Search *search) { return search->name() == name; });
  return found == allSearches().end() ? nullptr : *found;
}

} // namespace fathom::tune
