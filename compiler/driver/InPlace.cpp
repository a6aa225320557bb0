// Kernel by kernel within two models, then model against model.
#include "compiler/driver/InPlace.h"

namespace fathom {

using llvm::ArrayRef;
using tune::Tuned;

namespace {

class RunningComparison final : public ModelComparison {
public:
  explicit RunningComparison(BuildModel build) : build(std::move(build)) {}

  llvm::Expected<std::array<std::vector<double>, 2>> kernels(ArrayRef<Tuned> tuned) override {
    if (llvm::Error error = prepare(tuned))
      return std::move(error);
    auto times = typicalKernelTimes(runs, seconds);
    if (!times)
      return times.takeError();
    return std::array{(*times)[0], (*times)[1]};
  }
  llvm::Expected<InPlace> models(ArrayRef<Tuned> tuned) override {
    if (llvm::Error error = prepare(tuned))
      return std::move(error);
    auto times = typicalTimes(runs, seconds);
    if (!times)
      return times.takeError();
    return InPlace{(*times)[0], (*times)[1]};
  }

private:
  static constexpr double seconds = 2; // of a comparison

  // The model as it was planned is made once, the other one when it is another.
  llvm::Error prepare(ArrayRef<Tuned> tuned) {
    std::vector<Tuned> planned = tuned.vec();
    for (Tuned &kernel : planned)
      kernel.best = kernel.planned;
    if (runs.empty())
      if (llvm::Error error = add(planned))
        return error;
    std::vector<Schedule> wanted;
    for (const Tuned &kernel : tuned)
      wanted.push_back(kernel.best);
    if (runs.size() == 2 && wanted == present)
      return llvm::Error::success();
    runs.resize(1);
    present = std::move(wanted);
    return add(tuned);
  }

  llvm::Error add(ArrayRef<Tuned> tuned) {
    auto model = build(tuned);
    if (!model)
      return model.takeError();
    runs.push_back(std::make_unique<ModelRun>(std::move(*model)));
    return llvm::Error::success();
  }

  BuildModel build;
  std::vector<std::unique_ptr<ModelRun>> runs;
  std::vector<Schedule> present; // of the second one
};

// Whose best schedule is taken, those that gain least first.
std::vector<size_t> byGain(ArrayRef<Tuned> tuned) {
  std::vector<size_t> order =
      tune::byCost(tuned.size(), [&](size_t i) { return tuned[i].inPlace ? tuned[i].inPlace->gain() : 0; });
  llvm::erase_if(order, [&](size_t i) { return !tuned[i].inPlace || !tuned[i].inPlace->isTaken; });
  return order;
}

void leave(Tuned &kernel) {
  kernel.best = kernel.planned, kernel.from.clear();
  kernel.inPlace->isTaken = false;
}

// The candidates of all kernels that come first are compared in one model, those that come second in another, ...
llvm::Error chooseCandidates(std::vector<Tuned> &tuned, ModelComparison &comparison) {
  size_t rounds = 0;
  for (Tuned &kernel : tuned) {
    if (kernel.candidates.empty() && kernel.isBetter())
      kernel.candidates.push_back({kernel.best, kernel.from});
    rounds = std::max(rounds, kernel.candidates.size());
  }
  std::vector<Tuned> tried = tuned;
  for (size_t round = 0; round < rounds; ++round) {
    for (Tuned &kernel : tried)
      kernel.best = round < kernel.candidates.size() ? kernel.candidates[round].schedule : kernel.planned;
    auto times = comparison.kernels(tried);
    if (!times)
      return times.takeError();
    for (Tuned &kernel : tuned) {
      if (round >= kernel.candidates.size())
        continue;
      tune::KernelInPlace place;
      for (size_t i : kernel.kernels)
        place.plannedNs += (*times)[0][i], place.bestNs += (*times)[1][i];
      if (kernel.inPlace && place.share() >= kernel.inPlace->share())
        continue;
      kernel.inPlace = place;
      kernel.best = kernel.candidates[round].schedule, kernel.from = kernel.candidates[round].from;
    }
  }
  for (Tuned &kernel : tuned)
    if (kernel.inPlace && kernel.inPlace->gain() <= 0)
      leave(kernel);
  return llvm::Error::success();
}

} // namespace

std::unique_ptr<ModelComparison> compareByRunning(BuildModel build) {
  return std::make_unique<RunningComparison>(std::move(build));
}

llvm::Expected<InPlace> chooseInPlace(std::vector<Tuned> &given, ModelComparison &comparison) {
  std::vector<Tuned> tuned = given;
  if (llvm::Error error = chooseCandidates(tuned, comparison))
    return std::move(error);
  while (true) {
    auto result = comparison.models(tuned);
    if (!result)
      return result.takeError();
    std::vector<size_t> taken = byGain(tuned);
    if (!taken.empty() && result->chosenNs > result->plannedNs) {
      for (size_t i : ArrayRef(taken).take_front((taken.size() + 1) / 2))
        leave(tuned[i]);
      continue;
    }
    // Two runs of one model differ by nothing but noise.
    if (taken.empty())
      result->chosenNs = result->plannedNs;
    given = std::move(tuned);
    return *result;
  }
}

} // namespace fathom
