// Sites are told apart by regions: the least sets of ops that both plans divide into whole kernels.
#include "compiler/tune/Choices.h"

#include "compiler/tune/search/Search.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/StringMap.h"
#include <cmath>

using namespace llvm;

namespace fathom::tune {

std::vector<PlannedChoice> ChosenModel::made() const {
  std::vector<PlannedChoice> choices;
  for (const ChosenSite &one : sites)
    if (one.isChanged())
      choices.push_back(one.site.take(one.taken));
  return choices;
}

std::vector<PlannedChoice> ChosenModel::kept() const {
  std::vector<PlannedChoice> choices;
  for (const ChosenSite &one : sites)
    if (!one.isChanged())
      choices.push_back(one.site.take(one.taken));
  return choices;
}

namespace {

// What two plans cost in each region.
class Regions {
public:
  explicit Regions(const std::array<JudgedPlan, 2> &plans) {
    for (const JudgedPlan &plan : plans)
      for (const std::vector<std::string> &kernel : plan.ops)
        for (const std::string &op : kernel)
          regions.unionSets(numberOf(kernel.front()), numberOf(op));
    for (auto [place, plan] : enumerate(plans))
      for (const auto &[kernel, cost] : zip_equal(plan.ops, plan.costs))
        costs[regions.getLeaderValue(numberOf(kernel.front()))][place] += cost;
  }

  // As proposed, and as chosen.
  std::array<double, 2> around(StringRef op) {
    auto found = numbers.find(op);
    return found == numbers.end() ? std::array<double, 2>{} : costs[regions.getLeaderValue(found->second)];
  }

private:
  size_t numberOf(StringRef op) { return numbers.try_emplace(op, numbers.size()).first->second; }

  StringMap<size_t> numbers;
  EquivalenceClasses<size_t> regions;
  DenseMap<size_t, std::array<double, 2>> costs;
};

// An alternative that costs less than what is taken, beyond doubt.
struct Better {
  size_t site, alternative;
  double proposedCost, cost;
};

Taken takenOf(ArrayRef<ChosenSite> sites) {
  Taken taken;
  for (const ChosenSite &one : sites)
    taken.push_back(one.taken);
  return taken;
}

Expected<std::vector<Better>> tryAlternatives(SiteKind kind, ArrayRef<ChosenSite> sites, ChoiceJudge &judge,
                                              const ChoiceLimits &limits) {
  std::vector<Better> better;
  Taken base = takenOf(sites);
  size_t rounds = 0;
  for (const ChosenSite &one : sites)
    if (one.site.kind == kind)
      rounds = std::max(rounds, one.site.alternatives.size());
  for (size_t round = 0; round < rounds && !(limits.isOver && limits.isOver()); ++round) {
    Taken taken = base;
    for (auto [i, one] : enumerate(sites))
      if (one.site.kind == kind && round < one.site.alternatives.size())
        taken[i] = round;
    if (taken == base)
      continue;
    auto plans = judge.kernels(base, taken);
    if (!plans)
      return plans.takeError();
    Regions regions(*plans);
    for (auto [i, one] : enumerate(sites)) {
      auto [before, tried] = regions.around(one.site.op);
      if (taken[i] != base[i] && std::isfinite(before) && tried < before * (1 - limits.doubt))
        better.push_back({i, taken[i], before, tried});
    }
  }
  return better;
}

void take(ChosenSite &one, const Better &better) {
  one.taken = better.alternative, one.proposedCost = better.proposedCost, one.takenCost = better.cost;
}

void takeBack(ChosenSite &one) { one.taken = one.site.proposed, one.takenCost = one.proposedCost; }

// What makes weights no larger, where it is best; then what gains most for a byte, as far as they may grow.
void takeWithin(int64_t growth, ArrayRef<Better> better, std::vector<ChosenSite> &sites) {
  auto more = [&](const Better &one) {
    const ChosenSite &site = sites[one.site];
    return site.site.alternatives[one.alternative].bytes - site.site.alternatives[site.taken].bytes;
  };
  // By shares, as each round has measured its own costs of what was proposed.
  auto gain = [&](const Better &one) {
    const ChosenSite &site = sites[one.site];
    double taken = site.proposedCost > 0 ? site.takenCost / site.proposedCost : 1;
    return one.proposedCost * taken - one.cost;
  };
  for (const Better &one : better)
    if (more(one) <= 0 && gain(one) > 0)
      growth -= more(one), take(sites[one.site], one);
  for (size_t i : byCost(better.size(),
                         [&](size_t i) { return -gain(better[i]) / double(std::max<int64_t>(1, more(better[i]))); }))
    if (int64_t bytes = more(better[i]); bytes <= growth && gain(better[i]) > 0)
      growth -= bytes, take(sites[better[i].site], better[i]);
}

Error chooseKind(SiteKind kind, std::vector<ChosenSite> &sites, ChoiceJudge &judge, const ChoiceLimits &limits) {
  Taken base = takenOf(sites);
  auto better = tryAlternatives(kind, sites, judge, limits);
  if (!better)
    return better.takeError();
  int64_t growth = limits.growth;
  for (const ChosenSite &one : sites)
    growth -= one.growth();
  takeWithin(growth, *better, sites);
  for (Taken taken; (taken = takenOf(sites)) != base;) {
    auto costs = judge.models(base, taken);
    if (!costs)
      return costs.takeError();
    if ((*costs)[1] <= (*costs)[0])
      return Error::success();
    std::vector<size_t> changed;
    for (size_t i = 0; i < sites.size(); ++i)
      if (taken[i] != base[i])
        changed.push_back(i);
    std::vector<size_t> order = byCost(changed.size(), [&](size_t i) { return sites[changed[i]].gain(); });
    for (size_t place : ArrayRef(order).take_front((order.size() + 1) / 2))
      takeBack(sites[changed[place]]);
  }
  return Error::success();
}

} // namespace

Expected<ChosenModel> chooseSites(ArrayRef<Site> sites, ChoiceJudge &judge, const ChoiceLimits &limits) {
  ChosenModel model;
  for (const Site &site : sites)
    model.sites.push_back({site, site.proposed});
  Taken proposed = takenOf(model.sites);
  for (SiteKind kind : siteKinds)
    if (is_contained(limits.kinds, kind))
      if (Error error = chooseKind(kind, model.sites, judge, limits))
        return std::move(error);
  auto costs = judge.models(proposed, takenOf(model.sites));
  if (!costs)
    return costs.takeError();
  model.proposedCost = (*costs)[0], model.takenCost = model.isChanged() ? (*costs)[1] : (*costs)[0];
  return std::move(model);
}

} // namespace fathom::tune
