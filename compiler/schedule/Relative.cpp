// Relative sizes as text, and what they are of a problem on a machine.
#include "compiler/schedule/Relative.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"
#include <limits>
#include <numeric>

namespace fathom {

static constexpr int64_t elementBytes = 4;

static std::string print(const RelativeSize &size) {
  std::string text = std::to_string(size.numerator);
  if (size.denominator != 1)
    text += "/" + std::to_string(size.denominator);
  return size.unit.empty() ? text : text + " " + size.unit;
}

static std::optional<RelativeSize> parseSize(llvm::StringRef text) {
  RelativeSize size;
  auto [number, unit] = text.trim().split(' ');
  auto [numerator, denominator] = number.split('/');
  if (numerator.getAsInteger(10, size.numerator) || size.numerator < 0)
    return std::nullopt;
  if (number.contains('/') && (denominator.getAsInteger(10, size.denominator) || size.denominator < 1))
    return std::nullopt;
  auto isWord = [](char c) { return llvm::isAlnum(c) || c == '_'; };
  if (!llvm::all_of(unit, isWord) || (unit.empty() && size.denominator != 1))
    return std::nullopt;
  size.unit = unit.str();
  return size;
}

std::string print(const RelativeSchedule &schedule) {
  auto knob = [](const auto &knob) { return knob.first + ": " + print(knob.second); };
  return llvm::join(llvm::map_range(schedule.knobs, knob), ", ");
}

std::optional<RelativeSchedule> parseRelative(llvm::StringRef text) {
  RelativeSchedule schedule;
  llvm::SmallVector<llvm::StringRef> parts;
  text.split(parts, ',', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  for (llvm::StringRef part : parts) {
    auto [name, value] = part.split(':');
    std::optional<RelativeSize> size = parseSize(value);
    if (name.trim().empty() || !size)
      return std::nullopt;
    schedule.knobs.emplace_back(name.trim().str(), *size);
  }
  return schedule;
}

static RelativeSize reduced(int64_t numerator, int64_t denominator, llvm::StringRef unit) {
  int64_t common = std::max<int64_t>(1, std::gcd(numerator, denominator));
  return {numerator / common, denominator / common, unit.str()};
}

static std::optional<int64_t> extentOf(llvm::StringRef name, const Schedule &schedule, const Scale &scale) {
  if (scale.extents && !name.empty())
    for (const auto &[known, value] : scale.extents(schedule))
      if (known == name && value > 0)
        return value;
  return std::nullopt;
}

// Of the knob that it goes with, so many fill the level.
static std::optional<int64_t> fillingCache(int level, llvm::StringRef with, const Schedule &schedule,
                                           const Scale &scale) {
  int64_t each = schedule.value(with) * elementBytes;
  if (level < 1 || size_t(level) > scale.cacheBytes.size() || each < 1)
    return std::nullopt;
  return std::max<int64_t>(1, scale.cacheBytes[size_t(level - 1)] / each);
}

RelativeSchedule relativeTo(const Schedule &schedule, llvm::ArrayRef<Knob> knobs, const Scale &scale) {
  RelativeSchedule result;
  for (const Knob &knob : knobs) {
    const Relation &relation = knob.relation;
    int64_t value = schedule.value(knob.name);
    RelativeSize size{value};
    std::optional<int64_t> extent = extentOf(relation.extent, schedule, scale);
    if (extent && (!relation.isWholeOnly || value >= *extent))
      size = reduced(value, *extent, relation.extent);
    else if (relation.inVectors && value % scale.lanes == 0)
      size = {value / scale.lanes, 1, "vectors"};
    else if (std::optional<int64_t> full = fillingCache(relation.cache, relation.with, schedule, scale))
      size = reduced(value, *full, "cache" + std::to_string(relation.cache));
    result.knobs.emplace_back(knob.name.str(), std::move(size));
  }
  return result;
}

// Unbounded by overflow: what is too large is clamped to a knob's range anyway.
static int64_t times(const RelativeSize &size, int64_t unit) {
  int64_t product;
  if (llvm::MulOverflow(size.numerator, unit, product))
    return std::numeric_limits<int64_t>::max() / 2;
  return llvm::divideCeil(product, size.denominator);
}

Schedule resolve(const RelativeSchedule &schedule, llvm::ArrayRef<Knob> knobs, const Scale &scale) {
  auto knobOf = [&](llvm::StringRef name) -> const Knob * {
    auto found = llvm::find_if(knobs, [&](const Knob &knob) { return knob.name == name; });
    return found == knobs.end() ? nullptr : &*found;
  };
  Schedule resolved;
  // A panel's width, of which others are counted, comes before them.
  for (const auto &[name, size] : schedule.knobs) {
    const Knob *knob = knobOf(name);
    int64_t unit = 1;
    llvm::StringRef word = size.unit;
    int level = 0;
    if (word == "vectors")
      unit = scale.lanes;
    else if (word.consume_front("cache") && !word.getAsInteger(10, level))
      unit = fillingCache(level, knob ? llvm::StringRef(knob->relation.with) : "", resolved, scale).value_or(1);
    else if (!size.unit.empty())
      unit = extentOf(size.unit, resolved, scale).value_or(1);
    int64_t value = times(size, unit);
    if (knob) {
      int64_t each = knob->unit.empty() ? 1 : std::max<int64_t>(1, resolved.value(knob->unit));
      value = std::clamp(value, knob->min, knob->max);
      value = std::min<int64_t>(llvm::alignTo(uint64_t(value), uint64_t(each)), knob->max / each * each);
    }
    resolved.set(name, value);
  }
  return resolved;
}

} // namespace fathom
