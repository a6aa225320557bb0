// What a schedule of a kernel was measured to take, beside what models say of it: the data that these are fitted to.
// Samples are kept as lines of JSON, so that a run that ends before time goes on from there.
#pragma once

#include "compiler/analysis/Coefficients.h"
#include "compiler/analysis/WorkingSets.h"
#include "compiler/schedule/Schedule.h"

namespace fathom::tune {

struct Sample {
  std::string kernel; // a hash of its text: equal kernels of all models are one
  std::string name;   // of the kernel, where it was met
  std::string kernelClass;
  Schedule schedule;
  double nanoseconds = 0, spread = 0; // the median, and between the quartiles as a share of it
  double draft = 0;                   // cycles
  Features features{};
  WorkingSetsByLevel workingSets{};
};

struct SampleFile {
  std::string target;
  int threads = 1;
  std::vector<Sample> samples;

  bool has(llvm::StringRef kernel, const Schedule &schedule) const;
};

// A file that ends in the middle of a line, as that of a run that was killed, is read without that line. Where samples
// are analysed again, features that are missing are 0.
llvm::Expected<SampleFile> parseSamples(llvm::StringRef text, llvm::StringRef fileName, bool analysesAgain = false);

// Lines with their ends.
std::string headOf(const SampleFile &file);
std::string lineOf(const Sample &sample);

} // namespace fathom::tune
