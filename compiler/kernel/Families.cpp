// What all families share: the best of a space, and a few of it by chance.
#include "compiler/kernel/Families.h"

#include "llvm/Support/MathExtras.h"
#include <limits>
#include <random>

using namespace mlir;

namespace fathom {

Schedule bestSchedule(const Family &family, Operation *op, const Target &target) {
  if (family.best)
    return family.best(op, target);
  Schedule best;
  double least = std::numeric_limits<double>::infinity();
  family.space(op, target, [&](const Schedule &schedule) {
    if (double score = family.score(op, schedule, target); score < least)
      best = schedule, least = score;
  });
  return best;
}

std::vector<Schedule> sampleSchedules(const Family &family, Operation *op, const Target &target, size_t count,
                                      uint64_t seed) {
  // Whoever comes later takes the place of an earlier one with the chance that keeps all equally likely.
  std::vector<Schedule> chosen;
  std::mt19937_64 random(seed);
  size_t seen = 0;
  family.space(op, target, [&](const Schedule &schedule) {
    ++seen;
    if (chosen.size() < count)
      chosen.push_back(schedule);
    else if (size_t place = std::uniform_int_distribution<size_t>(0, seen - 1)(random); place < count)
      chosen[place] = schedule;
  });
  return chosen;
}

std::string loadAheadViolation(const cost::ProductSchedule &s, int64_t run, const Target &target) {
  if (!s.loadAhead || cost::canLoadAhead(s, run, target))
    return "";
  if (!cost::canLoadAhead(target))
    return "load_ahead must be 0: LLVM orders the loops of " + target.cpu;
  return "load_ahead must be 0: LLVM orders loops of other tiles than of whole vectors, with packed rows a multiple of "
         "4 "
         "or, in place, a multiple of 8 steps per iteration";
}

void withAndWithout(const Schedule &schedule, ArrayRef<StringRef> knobs,
                    llvm::function_ref<void(const Schedule &)> body) {
  if (knobs.empty())
    return body(schedule);
  withAndWithout(schedule, knobs.drop_front(), body);
  if (Schedule without = schedule; schedule[knobs[0]]) {
    without.set(knobs[0], 0);
    withAndWithout(without, knobs.drop_front(), body);
  }
}

SmallVector<int64_t> fractions(int64_t count, int64_t each, int64_t most) {
  SmallVector<int64_t> parts;
  for (int64_t divisor : {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64}) {
    int64_t part = llvm::alignTo(llvm::divideCeil(count, divisor), each);
    if (part <= most && (parts.empty() || parts.back() != part))
      parts.push_back(part);
  }
  if (parts.empty())
    parts.push_back(std::max(each, most / each * each));
  return parts;
}

} // namespace fathom
