// Schedules by chance: what every other search has to beat.
#include "compiler/tune/search/Searches.h"

namespace fathom::tune {
namespace {

class RandomSearch final : public Search {
public:
  llvm::StringRef name() const override { return "random"; }
  llvm::StringRef meaning() const override { return "legal schedules by chance"; }

  void run(Trials &trials, const Schedule &, uint64_t seed) const override {
    Random random(seed);
    // A small space is known as a whole at some time, and then nothing new comes.
    for (unsigned stale = 0; !trials.isOver() && stale < 20;) {
      std::vector<SearchSpace::Point> batch;
      for (size_t i = std::min<size_t>(trials.left(), 64); i > 0; --i)
        if (std::optional<SearchSpace::Point> point = trials.space.any(random))
          batch.push_back(*point);
      size_t before = trials.judged.size();
      trials.ask(batch);
      stale = trials.judged.size() == before ? stale + 1 : 0;
    }
  }
};

} // namespace

const Search &randomSearch() {
  static const RandomSearch search;
  return search;
}

} // namespace fathom::tune
