// The lines that go to the program that measures, and those that come back.
#pragma once

#include "compiler/tune/measure/Measure.h"

namespace fathom::tune {

// How a group is measured: its first lines.
std::string writeOptions(const MeasureOptions &options);

// A candidate, with the bytes of its object. False: it cannot be measured, and why.
bool writeKernel(const MeasuredKernel &kernel, std::string &text, std::string &problem);

// What follows a candidate's number: "ok" and figures, or another status and words. False: it is neither.
bool parseMeasurement(llvm::StringRef text, Measurement &result);

} // namespace fathom::tune
