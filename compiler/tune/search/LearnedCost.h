// What schedules cost, learned from those that were judged: AutoTVM's model of boosted trees. What other kernels taught
// stands behind it at first, and counts less the more is known of this one.
#pragma once

#include "compiler/tune/search/Features.h"
#include "compiler/tune/search/Search.h"
#include <map>

namespace fathom::tune {

class LearnedCost {
public:
  using Point = SearchSpace::Point;

  LearnedCost(Trials &trials, FeatureKind kind);
  ~LearnedCost(); // what was learned goes into the history, where there is one

  // Asks for them, and remembers what they cost.
  void ask(llvm::ArrayRef<Point> points);
  // Learns from all that was asked, so that so many of the best are found.
  void fit(size_t top);
  // More is better; all the same before anything was learned.
  std::vector<float> predict(llvm::ArrayRef<Point> points);
  bool isKnown(const Point &point) const { return costs.count(point); }
  size_t count() const { return costs.size(); }

private:
  using Rows = std::map<Point, FeatureRow>;
  std::vector<FeatureRow> rowsOf(llvm::ArrayRef<Point> points, FeatureKind kind, Rows &known);
  std::vector<float> marginsOf(llvm::ArrayRef<Point> points);
  std::vector<float> labelsOf(llvm::ArrayRef<Point> points) const;
  std::vector<Point> learnable() const;

  Trials &trials;
  FeatureKind kind;
  Rows rows, curves;
  std::map<Point, double> costs;
  double least = noCost;
  std::unique_ptr<BoostedTrees> trees, others; // of this kernel; of those before
};

} // namespace fathom::tune
