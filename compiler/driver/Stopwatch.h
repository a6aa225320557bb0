// How long stages take.
#pragma once

#include "compiler/driver/Compile.h"
#include <chrono>

namespace fathom {

// Adds the seconds of its life to a report.
class Stopwatch {
public:
  Stopwatch(CompileReport &report, llvm::StringRef stage) : report(report), stage(stage.str()), start(Clock::now()) {}
  ~Stopwatch() { report.stages.emplace_back(stage, std::chrono::duration<double>(Clock::now() - start).count()); }

private:
  using Clock = std::chrono::steady_clock;
  CompileReport &report;
  std::string stage;
  Clock::time_point start;
};

} // namespace fathom
