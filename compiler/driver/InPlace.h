// Whether what is faster apart from a model is so in it: whole models take turns, on this machine.
#pragma once

#include "compiler/driver/ModelRuns.h"
#include "compiler/tune/Tune.h"
#include <array>
#include <functional>

namespace fathom {

// Nanoseconds of a model with the schedules that it was planned with, and with those that it keeps.
struct InPlace {
  double plannedNs = 0, chosenNs = 0;
};

// Who compares the model as it was planned with what it is with the best schedules of these kernels.
class ModelComparison {
public:
  virtual ~ModelComparison() = default;
  // The nanoseconds of each of the program's kernels: as planned, and so.
  virtual llvm::Expected<std::array<std::vector<double>, 2>> kernels(llvm::ArrayRef<tune::Tuned> tuned) = 0;
  // Those of the whole model.
  virtual llvm::Expected<InPlace> models(llvm::ArrayRef<tune::Tuned> tuned) = 0;
};

// By running both in turns. `build` makes and loads the model with the best schedules of these kernels.
using BuildModel = std::function<llvm::Expected<ModelRun>(llvm::ArrayRef<tune::Tuned>)>;
std::unique_ptr<ModelComparison> compareByRunning(BuildModel build);

// Of each kernel's candidates, or else of its best schedule alone, takes the one that gains most in the model; none
// where none gains. Then takes back, while the whole model is slower than as planned, those that gain least. Of an
// error nothing is changed.
llvm::Expected<InPlace> chooseInPlace(std::vector<tune::Tuned> &tuned, ModelComparison &comparison);

} // namespace fathom
