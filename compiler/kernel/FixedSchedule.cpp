// The fixed schedules, and what becomes of one that is not legal for a kernel.
#include "compiler/kernel/FixedSchedule.h"

#include <cmath>

namespace fathom {

namespace {

struct Wish {
  const KernelClass &klass;
  llvm::StringLiteral text;
};

constexpr llvm::StringLiteral rows = "lanes: 1 vectors, grain: 64";

const Wish wishes[] = {
    {mapClass, "lanes: 1 vectors, grain: 16384"},
    {reorderClass, "tile: 4, run: 64, along_inner: 0, grain: 16"},
    {concatClass, rows},
    {reduceClass, rows},
    {argReduceClass, rows},
    {softmaxClass, rows},
    {layerNormClass, rows},
    {poolClass, rows},
    {scanClass, rows},
    {sequentialClass, "grain: 64"},
    {contractClass, "tile_m: 4, tile_n: 2 vectors, unroll_k: 4, in_flight: 1, pack_a: 0, block_k: 256, rows_outer: 0, "
                    "task_m: 64, task_n: 4"},
    {attentionClass, "tile_m: 4, tile_n: 2 vectors, unroll_k: 4, block_n: 256, task_m: 64"},
    {depthwiseClass, "tile_w: 4, lanes: 1 vectors, block_c: 64, fetch_ahead: 0, grain: 4"},
    {winogradClass, "tile: 4, tile_m: 4, tile_n: 2 vectors, unroll_k: 4, in_flight: 1, fetch_ahead: 0, task_t: 64, "
                    "task_n: 4"},
    {spatialPackClass, "tile_w: 4, tile_o: 2 vectors, groups: 1, tile_i: 1, unroll_w: 0, rows_outer: 0, task_h: 4, "
                       "task_n: 4"},
    {strassenClass, "stored: 7, tile_m: 4, tile_n: 1 vectors, unroll_k: 4, in_flight: 1, fetch_ahead: 0, task_m: 64, "
                    "task_n: 4"},
    {transposedClass, "tile_m: 4, tile_n: 2 vectors, unroll_k: 4, in_flight: 1, task_p: 1, task_m: 64, task_n: 4"},
    {packedProductClass, "tile_m: 4, tile_n: 2, row_n: 4, chunk: 32, grain: 64"},
    {productClass, "tile_m: 4, tile_n: 4"},
    {treesClass, "rows: 4, trees: 4, steps: 4, block: 16, grain: 64"},
};

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
  for (const Wish &wish : wishes)
    if (&wish.klass == &klass)
      return *parseRelative(wish.text);
  return {};
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
