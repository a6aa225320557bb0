// A search for fast schedules of a kernel: it asks a judge what schedules cost, many at once, and keeps what it hears.
// Each search is a file of its own in this folder.
#pragma once

#include "compiler/tune/search/SearchSpace.h"
#include <functional>
#include <limits>

namespace fathom::tune {

constexpr double noCost = std::numeric_limits<double>::infinity();

// Says what schedules cost: by an estimate, or by measuring.
class Judge {
public:
  virtual ~Judge() = default;
  // In the order of the schedules, all legal; noCost for one that cannot be run. The least is best.
  virtual std::vector<double> costs(llvm::ArrayRef<Schedule> schedules) = 0;
};

struct Judged {
  Schedule schedule;
  double cost = noCost;
};

// The numbers from 0 on in the order of what they cost; of equal ones the first comes first.
template <typename Cost> std::vector<size_t> byCost(size_t count, Cost costOf) {
  std::vector<std::pair<double, size_t>> costs;
  for (size_t i = 0; i < count; ++i)
    costs.emplace_back(costOf(i), i);
  llvm::sort(costs);
  std::vector<size_t> order;
  for (const auto &[cost, i] : costs)
    order.push_back(i);
  return order;
}

// What searches learned that learn: rows of numbers that kernels have in common, and how good these schedules are for
// their kernels, from 0 to 1.
struct History {
  std::vector<std::vector<float>> rows;
  std::vector<float> labels;
};

// What a search has asked so far. It asks for nothing twice and for no more than it may.
class Trials {
public:
  Trials(const SearchSpace &space, Judge &judge, size_t limit) : space(space), judge(judge), limit(limit) {}

  // The costs of points, of which none is asked for beyond the limit: noCost.
  std::vector<double> ask(llvm::ArrayRef<SearchSpace::Point> points);
  bool isOver() const { return judged.size() >= limit; }
  size_t left() const { return limit - judged.size(); }

  const SearchSpace &space;
  std::vector<Judged> judged; // in the order of asking
  // Threads that a search may have for itself; 0: all CPUs.
  unsigned threads = 0;
  // What other kernels taught, for searches that learn; null: nothing is kept.
  History *history = nullptr;
  // Told what a search looks at by itself, before it asks; null: nobody listens.
  std::function<void(llvm::StringRef)> told;

  // So many of them, the cheapest first; of equal ones the one that came first.
  std::vector<Judged> best(size_t count) const;

private:
  Judge &judge;
  size_t limit;
  llvm::StringMap<double> known; // by the schedule's text
};

class Search {
public:
  virtual ~Search() = default;
  virtual llvm::StringRef name() const = 0;
  virtual llvm::StringRef meaning() const = 0;
  // What it lacks on this machine.
  virtual llvm::Error problem() const { return llvm::Error::success(); }
  // Asks until it may ask no more, or knows no more to ask for. `start` is where to begin.
  virtual void run(Trials &trials, const Schedule &start, uint64_t seed) const = 0;
};

// "tile_m=4 tile_n=16"
std::string textOf(const Schedule &schedule);

// By name; null where there is none.
const Search *findSearch(llvm::StringRef name);
llvm::ArrayRef<const Search *> allSearches();

} // namespace fathom::tune
