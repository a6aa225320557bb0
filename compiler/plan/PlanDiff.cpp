// Plans side by side: kernels are the same by the name of what they compute.
#include "compiler/plan/PlanDiff.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

using namespace llvm;

namespace fathom {
namespace {

std::string joined(ArrayRef<int64_t> numbers) {
  return numbers.empty() ? "none" : join(map_range(numbers, [](int64_t n) { return std::to_string(n); }), ",");
}

// "KNOB OLD -> NEW" for each number that differs.
std::string changes(const Schedule &a, const Schedule &b) {
  SmallVector<std::string> list;
  auto numberIn = [](const Schedule &schedule, StringRef name) {
    return schedule.has(name) ? std::to_string(schedule.value(name)) : "none";
  };
  auto compare = [&](StringRef name) {
    std::string before = numberIn(a, name), after = numberIn(b, name);
    if (before != after)
      list.push_back((name + " " + before + " -> " + after).str());
  };
  for (const auto &[name, value] : a.knobs)
    compare(name);
  for (const auto &[name, value] : b.knobs)
    if (numberIn(a, name) == "none")
      compare(name);
  return join(list, ", ");
}

class Comparison {
public:
  std::vector<PlanDifference> run(const Plan &a, const Plan &b) {
    if (a.target != b.target)
      add("target", a.target + " -> " + b.target);
    overBoth(
        a.kernels, b.kernels, [](const PlannedKernel &kernel) { return "kernel " + kernel.name; },
        [&](const PlannedKernel &x, const PlannedKernel &y) { compareKernels(x, y); });
    overBoth(
        a.layouts, b.layouts, [](const PlannedLayout &layout) { return "layout of " + layout.value; },
        [&](const PlannedLayout &x, const PlannedLayout &y) { compareLayouts(x, y); });
    return std::move(differences);
  }

private:
  void add(std::string subject, std::string what) { differences.push_back({std::move(subject), std::move(what)}); }

  // Pairs what has the same name.
  template <typename T, typename Name, typename Compare>
  void overBoth(const std::vector<T> &a, const std::vector<T> &b, Name nameOf, Compare compare) {
    StringMap<const T *> others;
    for (const T &other : b)
      others.try_emplace(nameOf(other), &other);
    for (const T &item : a) {
      auto other = others.find(nameOf(item));
      if (other == others.end()) {
        add(nameOf(item), "only in A");
        continue;
      }
      compare(item, *other->second);
      others.erase(other);
    }
    for (const T &item : b)
      if (others.contains(nameOf(item)))
        add(nameOf(item), "only in B");
  }

  void compareKernels(const PlannedKernel &a, const PlannedKernel &b) {
    std::string subject = "kernel " + a.name;
    auto missing = [&](const PlannedKernel &from, const PlannedKernel &in, const char *where) {
      SmallVector<std::string> ops;
      for (const std::string &op : from.ops)
        if (!is_contained(in.ops, op))
          ops.push_back(op);
      if (!ops.empty())
        add(subject, std::string("computes only in ") + where + ": " + join(ops, ", "));
    };
    missing(a, b, "A");
    missing(b, a, "B");
    if (a.kernelClass != b.kernelClass)
      return add(subject, "class " + a.kernelClass + " -> " + b.kernelClass);
    if (std::string changed = changes(a.schedule, b.schedule); !changed.empty())
      add(subject, changed);
    auto bounds = [](const PlannedKernel &kernel) {
      SmallVector<int64_t> list;
      for (const Version &version : kernel.versions)
        list.push_back(version.upTo);
      return list;
    };
    if (bounds(a) != bounds(b))
      return add(subject, "versions up to " + joined(bounds(a)) + " -> " + joined(bounds(b)));
    for (const auto &[x, y] : zip_equal(a.versions, b.versions))
      if (std::string changed = changes(x.schedule, y.schedule); !changed.empty())
        add(subject, "up to " + std::to_string(x.upTo) + ": " + changed);
  }

  void compareLayouts(const PlannedLayout &a, const PlannedLayout &b) {
    std::string subject = "layout of " + a.value;
    if (a.order != b.order)
      add(subject, "order " + joined(a.order) + " -> " + joined(b.order));
    if (a.halo != b.halo)
      add(subject, "halo " + joined(a.halo) + " -> " + joined(b.halo));
    if (a.within != b.within)
      add(subject,
          "within " + (a.within.empty() ? "none" : a.within) + " -> " + (b.within.empty() ? "none" : b.within));
  }

  std::vector<PlanDifference> differences;
};

} // namespace

std::vector<PlanDifference> diffPlans(const Plan &a, const Plan &b) { return Comparison().run(a, b); }

} // namespace fathom
