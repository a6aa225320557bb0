// Relative sizes as text, and what they are of a problem on a machine.
#include "compiler/schedule/Relative.h"

#include "llvm/ADT/StringExtras.h"

namespace fathom {

static std::string print(const RelativeSize &size) {
  return std::to_string(size.count) + (size.unit == RelativeSize::Unit::Vector ? " vectors" : "");
}

static std::optional<RelativeSize> parseSize(llvm::StringRef text) {
  RelativeSize size;
  auto [number, unit] = text.trim().split(' ');
  if (number.getAsInteger(10, size.count) || size.count < 0 || (!unit.empty() && unit != "vectors"))
    return std::nullopt;
  size.unit = unit.empty() ? RelativeSize::Unit::One : RelativeSize::Unit::Vector;
  return size;
}

std::string print(const RelativeSchedule &schedule) {
  return llvm::join(
      llvm::map_range(schedule.knobs, [](const auto &knob) { return knob.first + ": " + print(knob.second); }), ", ");
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

Schedule resolve(const RelativeSchedule &schedule, const Scale &scale) {
  Schedule resolved;
  for (const auto &[name, size] : schedule.knobs)
    resolved.set(name, size.count * (size.unit == RelativeSize::Unit::Vector ? scale.lanes : 1));
  return resolved;
}

} // namespace fathom
