// The Plan: every decision between graph and code as text. Writing it and reading it back gives the same artifact; a
// changed field changes the code or is refused with the reason.
#pragma once

#include "compiler/schedule/Field.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"
#include <vector>

namespace fathom {

struct PlannedLayout {
  std::string value;
  std::vector<int64_t> order; // logical dimensions, outermost first
  std::vector<int64_t> halo;  // zeros before and after each dimension; empty: none
  std::string within;         // the concatenation in whose memory it lies; empty: its own
};

struct PlannedKernel {
  std::string name; // of the result it computes
  std::string kernelClass;
  std::vector<std::string> ops; // the graph ops it fuses, by the names of their results
  Schedule schedule;
  std::vector<Version> versions; // for smaller sizes, in ascending order of their bounds
};

// Something that is chosen before kernels are, at a site of the graph (Sites.h).
struct PlannedChoice {
  std::string op; // by the name of its result
  std::string kind, take;
  bool operator==(const PlannedChoice &) const = default;
};

struct Plan {
  int version = planVersion; // of the text that it was read from
  std::string target;
  // What was not left to the draft. A plan of nothing else leaves all the rest to it.
  std::vector<PlannedChoice> choices;
  std::vector<PlannedLayout> layouts;
  std::vector<PlannedKernel> kernels;

  bool saysAll() const { return choices.empty() || !kernels.empty(); }
};

// What a plan says, by name. The plan must outlive it and stay as it is.
class PlanIndex {
public:
  explicit PlanIndex(const Plan &plan);

  // The kernel that computes this op, or null.
  const PlannedKernel *kernelOf(llvm::StringRef op) const { return kernels.lookup(op); }
  const PlannedLayout *layoutOf(llvm::StringRef value) const { return layouts.lookup(value); }

private:
  llvm::StringMap<const PlannedKernel *> kernels;
  llvm::StringMap<const PlannedLayout *> layouts;
};

std::string printPlan(const Plan &plan);
llvm::Expected<Plan> parsePlan(llvm::StringRef text, llvm::StringRef fileName);

} // namespace fathom
