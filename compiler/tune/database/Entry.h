// What a database of schedules remembers: a kernel, the machine it is for, a schedule, and how fast that is.
#pragma once

#include "compiler/schedule/Schedule.h"
#include "compiler/support/FloatMode.h"
#include "llvm/Support/Error.h"
#include <optional>
#include <vector>

namespace fathom {
struct KernelClass;
}

namespace fathom::tune {

// The version of what makes code of schedules. It changes when times that were measured before say nothing any more.
inline constexpr llvm::StringLiteral generatorVersion = "1";

// The class of entries that say what a whole model chose: their knobs are sites (tune/ChoiceEntries.h).
inline constexpr llvm::StringLiteral choiceClass = "choices";

// How a schedule was found: by the draft of its cost, by the model of its code, by running it, or from another
// kernel's.
enum class Found { Draft, Static, Measured, Transferred };
llvm::StringRef name(Found found);
std::optional<Found> parseFound(llvm::StringRef word);

struct Entry {
  std::string kernel; // its canonical text, which nobody reads here
  std::string kernelClass;
  std::vector<int64_t> sizes; // of its problem, as its class counts them
  std::string target;         // TRIPLE:CPU
  std::string machine;        // stands for the numbers of the machine's description; empty: not known
  std::string generator;      // the version of what makes code of schedules
  FloatMode fp = FloatMode::Fast;
  int64_t threads = 1;
  Schedule schedule;

  Found found = Found::Draft;
  double cycles = 0; // as estimated; 0: they were not
  int64_t samples = 0;
  double nanoseconds = 0; // the samples' median
  double spread = 0;      // nanoseconds between the samples' quartiles
  int64_t time = 0;       // when it was found, in seconds since 1970
  std::string provenance; // in words

  // Says of two entries whether they are of the same schedule of the same kernel on the same machine.
  std::string id() const;
  bool operator==(const Entry &) const = default;
};

// The same 64 characters for the same text, everywhere.
std::string hashOf(llvm::StringRef text);

// A schedule on one line as a plan has it, "block_k: 64, tile_m: 5", and back. Knobs come in the order of their names.
std::string printSchedule(const Schedule &schedule);
std::optional<Schedule> parseSchedule(llvm::StringRef text);

// "1 64 56", and back.
std::string printSizes(llvm::ArrayRef<int64_t> sizes);
std::optional<std::vector<int64_t>> parseSizes(llvm::StringRef text);

// Whether an entry is one at all: texts that are text, numbers that are possible. Knobs may be of another version.
llvm::Error checkForm(const Entry &entry);
// Also that there is such a class and that it has these knobs, with values in their ranges. Whether a schedule is legal
// for a kernel is the business of who uses it.
llvm::Error checkEntry(const Entry &entry);
// An entry's schedule; knobs that there were not yet when it was found have their initial values, which is what was
// done.
Schedule scheduleOf(const Entry &entry, const KernelClass &klass);

} // namespace fathom::tune
