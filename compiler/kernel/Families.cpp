// What all families share: a few schedules of a space by chance, and constraints that several have.
#include "compiler/kernel/Families.h"

#include "compiler/cost/Product.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include <random>

using namespace mlir;

namespace fathom {

std::vector<Schedule> sampleSchedules(const Space &space, size_t count, uint64_t seed) {
  // Whoever comes later takes the place of an earlier one with the chance that keeps all equally likely.
  std::vector<Schedule> chosen;
  std::mt19937_64 random(seed);
  size_t seen = 0;
  space.enumerate([&](const Schedule &schedule) {
    ++seen;
    if (chosen.size() < count)
      chosen.push_back(schedule);
    else if (size_t place = std::uniform_int_distribution<size_t>(0, seen - 1)(random); place < count)
      chosen[place] = schedule;
  });
  return chosen;
}

std::string loadAheadViolation(const ContractSchedule &s, int64_t run, const Target &target) {
  if (!s.loadAhead || cost::canLoadAhead(s, run, target))
    return "";
  if (!target.multipliesByLaneOfFour())
    return "load_ahead must be 0: LLVM orders the loops of " + target.cpu;
  return "load_ahead must be 0: LLVM orders loops of other tiles than of whole vectors, with packed rows a multiple of "
         "4 or, in place, a multiple of 8 steps per iteration";
}

std::string registerViolation(int64_t rows, int64_t columns, int64_t needed, const Target &target) {
  if (needed <= target.vectorRegisters)
    return "";
  return llvm::formatv("a tile of {0} x {1} needs {2} vector registers and {3} has {4}", rows, columns, needed,
                       target.cpu, target.vectorRegisters)
      .str();
}

std::string panelViolation(int64_t width, int64_t packed) {
  if (!packed || packed == width)
    return "";
  return llvm::formatv("tile_n = {0} differs from the width {1} of the packed weights", width, packed).str();
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
