// Measurements that go on where an earlier run ended: what a database has times of is not measured again.
#pragma once

#include "compiler/tune/database/ScheduleDatabase.h"
#include "compiler/tune/judge/Judges.h"

namespace fathom::tune {

// The nanoseconds that schedules of kernels took, on one machine with so many threads.
class KnownTimes {
public:
  // All that a database has for a machine: `lookup` says which, but for the kernel.
  static llvm::Expected<KnownTimes> read(ScheduleDatabase &database, const Lookup &lookup);

  std::optional<double> find(llvm::StringRef kernel, const Schedule &schedule) const;

private:
  llvm::StringMap<llvm::StringMap<double>> times; // by the kernel's text, then by the schedule's
};

// What it asks of one who measures, and what it tells meanwhile.
struct Resumed {
  const KnownTimes *known = nullptr; // null: nothing
  Judge *judge;
  std::function<bool()> isOver;         // whether nothing more may be measured
  std::function<void(size_t)> onTrials; // so many were judged or passed over
  size_t *taken = nullptr;              // counts those that were known
};

std::unique_ptr<Judge> resumedJudge(const KernelTask &task, const Resumed &resumed);

} // namespace fathom::tune
