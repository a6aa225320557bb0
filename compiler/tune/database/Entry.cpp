// Entries as text and numbers, and what is wrong with them.
#include "compiler/tune/database/Entry.h"

#include "compiler/kernel/KernelClass.h"
#include "compiler/support/Failure.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/SHA256.h"
#include <cmath>

using namespace llvm;

namespace fathom::tune {

static constexpr std::pair<Found, StringLiteral> foundWords[] = {{Found::Draft, "draft"},
                                                                 {Found::Static, "static"},
                                                                 {Found::Measured, "measured"},
                                                                 {Found::Transferred, "transferred"}};

StringRef name(Found found) { return foundWords[unsigned(found)].second; }

std::optional<Found> parseFound(StringRef word) {
  for (const auto &[found, spelling] : foundWords)
    if (spelling == word)
      return found;
  return std::nullopt;
}

std::string hashOf(StringRef text) { return toHex(SHA256::hash(arrayRefFromStringRef(text)), /*LowerCase=*/true); }

std::string Entry::id() const {
  std::string text;
  // With their lengths, so that no two lists of parts give the same text.
  auto add = [&](StringRef part) { text += (Twine(part.size()) + ":" + part).str(); };
  for (StringRef part : {StringRef(kernel), StringRef(kernelClass), StringRef(target), StringRef(machine),
                         StringRef(generator), fathom::name(fp)})
    add(part);
  add(std::to_string(threads));
  add(printSchedule(schedule));
  return hashOf(text);
}

std::string printSchedule(const Schedule &schedule) {
  auto knobs = schedule.knobs;
  sort(knobs);
  std::string text;
  for (const auto &[name, value] : knobs)
    text += (Twine(text.empty() ? "" : ", ") + name + ": " + Twine(value)).str();
  return text;
}

std::optional<Schedule> parseSchedule(StringRef text) {
  Schedule schedule;
  SmallVector<StringRef> parts;
  if (!text.empty())
    text.split(parts, ", ");
  for (StringRef part : parts) {
    auto [name, number] = part.split(": ");
    int64_t value;
    if (name.empty() || number.getAsInteger(10, value) || schedule.has(name))
      return std::nullopt;
    schedule.set(name, value);
  }
  sort(schedule.knobs);
  return schedule;
}

std::string printSizes(ArrayRef<int64_t> sizes) {
  std::string text;
  for (int64_t size : sizes)
    text += (Twine(text.empty() ? "" : " ") + Twine(size)).str();
  return text;
}

std::optional<std::vector<int64_t>> parseSizes(StringRef text) {
  std::vector<int64_t> sizes;
  SmallVector<StringRef> parts;
  text.split(parts, ' ', -1, /*KeepEmpty=*/false);
  for (StringRef part : parts)
    if (part.getAsInteger(10, sizes.emplace_back()))
      return std::nullopt;
  return sizes;
}

static Error wrong(const Twine &message) { return fail(ErrorCode::BadEntry, message); }

Error checkForm(const Entry &entry) {
  const std::pair<StringRef, StringRef> texts[] = {{"kernel", entry.kernel},       {"class", entry.kernelClass},
                                                   {"target", entry.target},       {"machine", entry.machine},
                                                   {"generator", entry.generator}, {"provenance", entry.provenance}};
  for (const auto &[what, text] : texts) {
    if (text.empty() && what != "machine" && what != "provenance")
      return wrong("the entry names no " + what);
    if (!json::isUTF8(text))
      return wrong("the entry's " + what + " is not UTF-8");
  }
  for (const auto &[name, value] : entry.schedule.knobs)
    if (!json::isUTF8(name))
      return wrong("the name of a knob is not UTF-8");
  const std::pair<StringRef, double> numbers[] = {
      {"cycles", entry.cycles}, {"nanoseconds", entry.nanoseconds}, {"spread", entry.spread}};
  for (const auto &[what, number] : numbers)
    if (!std::isfinite(number) || number < 0)
      return wrong("the entry's " + what + " are not a number of at least 0");
  if (entry.threads < 1)
    return wrong("the entry's threads are " + Twine(entry.threads));
  // Up to the year 9999.
  if (entry.time < 0 || entry.time >= 253402300800)
    return wrong("the entry's time is " + Twine(entry.time));
  if (entry.samples < 0 || (entry.samples > 0) != (entry.nanoseconds > 0))
    return wrong("the entry has nanoseconds without samples, or samples without nanoseconds");
  if (!entry.samples && entry.cycles == 0)
    return wrong("the entry says neither cycles nor nanoseconds");
  return Error::success();
}

// KIND.PLACE, with the number of an alternative.
static Error checkSites(const Schedule &schedule) {
  for (const auto &[knob, value] : schedule.knobs) {
    auto [kind, place] = StringRef(knob).split('.');
    uint32_t number;
    if (kind.empty() || place.getAsInteger(10, number) || value < 0 || value > INT32_MAX)
      return wrong("'" + knob + ": " + Twine(value) + "' is no choice of a site");
  }
  return Error::success();
}

Schedule scheduleOf(const Entry &entry, const KernelClass &klass) {
  Schedule schedule = entry.schedule;
  for (const auto &[knob, value] : klass.family.initial().knobs)
    if (!schedule.has(knob))
      schedule.set(knob, value);
  return schedule;
}

Error checkEntry(const Entry &entry) {
  if (Error error = checkForm(entry))
    return error;
  if (entry.kernelClass == choiceClass)
    return checkSites(entry.schedule);
  const KernelClass *klass = findKernelClass(entry.kernelClass);
  if (!klass)
    return wrong("there is no class of kernels '" + entry.kernelClass + "'");
  if (Error error = checkKnobs(*klass, entry.schedule))
    return wrong(toString(std::move(error)));
  return Error::success();
}

} // namespace fathom::tune
