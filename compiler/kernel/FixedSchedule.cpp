// The fixed schedules, and what becomes of one that is not legal for a kernel.
#include "compiler/kernel/FixedSchedule.h"

#include <cmath>

namespace fathom {

namespace {

// How far apart schedules are: by how many doublings, over all knobs.
double distance(const Schedule &a, const Schedule &b) {
  double sum = 0;
  for (const auto &[knob, value] : a.knobs)
    sum += std::abs(std::log2(double(value + 1) / double(b.value(knob) + 1)));
  return sum;
}

bool isLegal(const KernelClass &klass, const Schedule &schedule, const Space &space) {
  if (llvm::Error error = checkSchedule(klass, schedule, space)) {
    llvm::consumeError(std::move(error));
    return false;
  }
  return true;
}

} // namespace

RelativeSchedule fixedSchedule(const KernelClass &klass) {
  return klass.fixed.empty() ? RelativeSchedule() : *parseRelative(klass.fixed);
}

Schedule legalFixed(const KernelClass &klass, const Space &space, const Space &choices, const Target &target) {
  Schedule wished = klass.family.initial();
  for (const auto &[knob, value] : resolve(fixedSchedule(klass), klass.family.knobs(), {target.lanes(32)}).knobs)
    wished.set(knob, value);
  return legalNear(wished, klass, space, choices);
}

Schedule legalNear(const Schedule &wished, const KernelClass &klass, const Space &space, const Space &choices) {
  if (isLegal(klass, wished, space))
    return wished;
  std::optional<Schedule> nearest;
  choices.enumerate([&](const Schedule &schedule) {
    if ((!nearest || distance(schedule, wished) < distance(*nearest, wished)) && isLegal(klass, schedule, space))
      nearest = schedule;
  });
  // A space that has nothing on the plain machine has it on this one.
  Schedule chosen = nearest ? *nearest : space.best();
  for (const auto &[knob, value] : wished.knobs) {
    Schedule closer = chosen;
    closer.set(knob, value);
    if (isLegal(klass, closer, space))
      chosen = closer;
  }
  return chosen;
}

Scale scaleOf(const Space &space, const Target &target) {
  Scale scale{target.lanes(32)};
  for (const CacheLevel &level : target.caches)
    scale.cacheBytes.push_back(level.bytes);
  scale.extents = [&space](const Schedule &schedule) { return space.extents(schedule); };
  return scale;
}

Target plainMachine(const Target &target) {
  Target plain;
  plain.backend = target.backend, plain.triple = target.triple, plain.cpu = target.cpu;
  plain.features = target.features, plain.required = target.required;
  plain.vectorBytes = target.vectorBytes, plain.vectorRegisters = target.vectorRegisters;
  plain.instructions = target.instructions;
  return plain;
}

} // namespace fathom
