// AutoTVM's use of its model: labels are throughputs, as shares of the best.
#include "compiler/tune/search/LearnedCost.h"

#include "compiler/support/LargeStack.h"

namespace fathom::tune {
namespace {

constexpr size_t leastRecords = 500; // of other kernels, before they are learned from
constexpr double leastDiscount = 0.05;

} // namespace

LearnedCost::LearnedCost(Trials &trials, FeatureKind kind) : trials(trials), kind(kind) {
  if (trials.history && trials.history->rows.size() >= leastRecords)
    others = std::make_unique<BoostedTrees>(trials.history->rows, trials.history->labels, leastRecords);
}

LearnedCost::~LearnedCost() {
  if (!trials.history || least == noCost)
    return;
  std::vector<Point> points = learnable();
  llvm::append_range(trials.history->labels, labelsOf(points));
  llvm::append_range(trials.history->rows, rowsOf(points, FeatureKind::Curves, curves));
}

void LearnedCost::ask(llvm::ArrayRef<Point> points) {
  size_t before = trials.judged.size();
  std::vector<double> found = trials.ask(points);
  if (trials.judged.size() == before)
    return;
  for (auto [point, cost] : llvm::zip_equal(points, found)) {
    // What was beyond the limit has no cost, and nothing is asked any more.
    costs.try_emplace(point, cost);
    least = std::min(least, cost);
  }
}

void LearnedCost::fit(size_t top) {
  std::vector<Point> points = learnable();
  if (points.size() < 2 || least == noCost)
    return;
  trees = std::make_unique<BoostedTrees>(rowsOf(points, kind, rows), labelsOf(points), top, marginsOf(points));
}

std::vector<float> LearnedCost::predict(llvm::ArrayRef<Point> points) {
  if (trees)
    return trees->predict(rowsOf(points, kind, rows), marginsOf(points));
  std::vector<float> margins = marginsOf(points);
  return margins.empty() ? std::vector<float>(points.size(), 0) : margins;
}

std::vector<FeatureRow> LearnedCost::rowsOf(llvm::ArrayRef<Point> points, FeatureKind kind, Rows &known) {
  std::vector<Rows::iterator> fresh;
  for (const Point &point : points)
    if (auto [found, isNew] = known.try_emplace(point); isNew)
      fresh.push_back(found);
  auto fill = [&](size_t i) { fresh[i]->second = featuresOf(trials.space, fresh[i]->first, kind); };
  // Code is made for all but knobs.
  if (kind == FeatureKind::Knobs)
    for (size_t i = 0; i < fresh.size(); ++i)
      fill(i);
  else
    onLargeStacks(trials.threads, fresh.size(), fill);
  std::vector<FeatureRow> result;
  for (const Point &point : points)
    result.push_back(known.find(point)->second);
  return result;
}

std::vector<float> LearnedCost::marginsOf(llvm::ArrayRef<Point> points) {
  double discount = std::exp2(-double(costs.size()) / 64);
  if (!others || discount < leastDiscount)
    return {};
  std::vector<float> margins = others->predict(rowsOf(points, FeatureKind::Curves, curves));
  for (float &margin : margins)
    margin *= float(discount);
  return margins;
}

std::vector<float> LearnedCost::labelsOf(llvm::ArrayRef<Point> points) const {
  std::vector<float> labels;
  for (const Point &point : points)
    labels.push_back(float(least / costs.find(point)->second));
  return labels;
}

std::vector<SearchSpace::Point> LearnedCost::learnable() const {
  std::vector<Point> points;
  for (const auto &[point, cost] : costs)
    points.push_back(point);
  return points;
}

} // namespace fathom::tune
