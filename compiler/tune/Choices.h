// Whole-model choices: which alternatives a model's sites take, judged by what the kernels around them cost, then by
// the whole model.
#pragma once

#include "compiler/plan/Sites.h"
#include "compiler/support/FloatMode.h"
#include <array>

namespace fathom::tune {

// For each site which alternative it takes.
using Taken = std::vector<size_t>;

// A planned model: what each of its kernels computes, by the names of ops, and costs.
struct JudgedPlan {
  std::vector<std::vector<std::string>> ops;
  std::vector<double> costs;
};

// Who says what a model costs with some choices, and with others.
class ChoiceJudge {
public:
  virtual ~ChoiceJudge() = default;
  virtual llvm::Expected<std::array<JudgedPlan, 2>> kernels(const Taken &base, const Taken &taken) = 0;
  virtual llvm::Expected<std::array<double, 2>> models(const Taken &base, const Taken &taken) = 0;
};

// What became of a site: costs are those of the kernels around it.
struct ChosenSite {
  Site site;
  size_t taken = 0;
  double proposedCost = 0, takenCost = 0;

  bool isChanged() const { return taken != site.proposed; }
  double gain() const { return proposedCost - takenCost; }
  int64_t growth() const { return site.alternatives[taken].bytes - site.alternatives[site.proposed].bytes; }
};

struct ChosenModel {
  std::vector<ChosenSite> sites;
  double proposedCost = 0, takenCost = 0; // of the whole model
  bool isMeasured = false;                // in nanoseconds, else in cycles
  std::string entry;                      // of the database that says so; empty: none

  bool isChanged() const {
    return llvm::any_of(sites, [](const ChosenSite &one) { return one.isChanged(); });
  }
  // What differs from what was proposed, and all the rest.
  std::vector<PlannedChoice> made() const, kept() const;
};

struct ChoiceLimits {
  std::vector<SiteKind> kinds = {std::begin(siteKinds), std::end(siteKinds)};
  double doubt = 0;             // what a judge cannot tell apart, as a share
  int64_t growth = INT64_MAX;   // bytes by which weights may grow beyond what was proposed
  std::function<bool()> isOver; // after which nothing else is tried
};

// One kind of sites after the other: each takes the alternative whose kernels cost least, all sites tried at a time, as
// far as weights may grow; then, while the whole model costs more than before, those that gain least are taken back.
llvm::Expected<ChosenModel> chooseSites(llvm::ArrayRef<Site> sites, ChoiceJudge &judge, const ChoiceLimits &limits);

} // namespace fathom::tune
