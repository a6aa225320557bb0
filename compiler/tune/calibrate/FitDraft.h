// The constants of drafts, fitted to samples. Pure functions.
#pragma once

#include "compiler/target/Calibration.h"
#include "compiler/tune/calibrate/Fit.h"

namespace fathom::tune {

// What drafts say of all samples with other constants.
using DraftModel = llvm::function_ref<std::vector<double>(const Calibration &)>;

// The constants that predictions depend on at all.
std::vector<const CalibrationField *> constantsThatCount(const Calibration &start, DraftModel model);

// The constants with which the logarithms of drafts come closest to those of times, by trying larger and smaller ones
// in turns. What the samples hardly say anything of stays near where it was.
Calibration fitDraft(llvm::ArrayRef<Sample> samples, const Calibration &start, DraftModel model);

// How well constants that were fitted without a kernel order its schedules, beside those at the start. Kernels are left
// out in a few groups. Of a single kernel there is none.
struct DraftValidation {
  std::string name, kernelClass;
  Ranking fitted, before;
};
std::vector<DraftValidation> crossValidateDraft(llvm::ArrayRef<Sample> samples, const Calibration &start,
                                                DraftModel model);

} // namespace fathom::tune
