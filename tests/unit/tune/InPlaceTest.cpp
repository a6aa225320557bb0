// Which schedules a model keeps: none that makes it slower.
#include "compiler/driver/InPlace.h"

#include <gtest/gtest.h>
#include <numeric>

namespace fathom {
namespace {

// A model whose kernels take so long with the planned schedules, and so with the best ones. What neighbours do to each
// other is a penalty on the whole model for every schedule that is not planned.
class FakeModel final : public ModelComparison {
public:
  FakeModel(std::vector<double> planned, std::vector<double> best, double penalty = 0)
      : planned(std::move(planned)), best(std::move(best)), penalty(penalty) {}

  llvm::Expected<std::array<std::vector<double>, 2>> kernels(llvm::ArrayRef<tune::Tuned>) override {
    if (fails)
      return llvm::createStringError("it does not run");
    return std::array{planned, best};
  }
  llvm::Expected<InPlace> models(llvm::ArrayRef<tune::Tuned> tuned) override {
    ++comparisons;
    InPlace times;
    for (const tune::Tuned &kernel : tuned)
      for (size_t i : kernel.kernels) {
        times.plannedNs += planned[i];
        times.chosenNs += kernel.isBetter() ? best[i] + penalty : planned[i];
      }
    return times;
  }

  int comparisons = 0;
  bool fails = false;

private:
  std::vector<double> planned, best;
  double penalty;
};

tune::Tuned kernelOf(std::vector<size_t> kernels, bool isBetter = true) {
  tune::Tuned kernel;
  kernel.kernels = std::move(kernels);
  kernel.planned.set("grain", 1), kernel.best.set("grain", isBetter ? 2 : 1);
  return kernel;
}

std::vector<bool> kept(llvm::ArrayRef<tune::Tuned> tuned) {
  std::vector<bool> better;
  for (const tune::Tuned &kernel : tuned)
    better.push_back(kernel.isBetter());
  return better;
}

TEST(InPlace, KeepsWhatIsFasterInTheModel) {
  FakeModel model({100, 100, 100, 100}, {90, 120, 95, 50});
  std::vector<tune::Tuned> tuned{kernelOf({0, 2}), kernelOf({1}), kernelOf({3}, false)};
  InPlace times = llvm::cantFail(chooseInPlace(tuned, model));
  EXPECT_EQ(kept(tuned), (std::vector{true, false, false}));
  EXPECT_EQ(times.plannedNs, 400);
  EXPECT_EQ(times.chosenNs, 385);
  EXPECT_EQ(tuned[0].inPlace->plannedNs, 200);
  EXPECT_EQ(tuned[0].inPlace->bestNs, 185);
  EXPECT_TRUE(tuned[0].inPlace->isTaken);
  EXPECT_FALSE(tuned[1].inPlace->isTaken);
  EXPECT_FALSE(tuned[2].inPlace);
}

// Those that gain least go first.
TEST(InPlace, TakesBackUntilTheModelIsNoSlower) {
  FakeModel model({100, 100, 100, 100}, {99, 98, 97, 50}, 10);
  std::vector<tune::Tuned> tuned{kernelOf({0}), kernelOf({1}), kernelOf({2}), kernelOf({3})};
  InPlace times = llvm::cantFail(chooseInPlace(tuned, model));
  EXPECT_LE(times.chosenNs, times.plannedNs);
  EXPECT_TRUE(tuned[3].isBetter());

  FakeModel slow({100, 100, 100, 100}, {99, 98, 97, 96}, 10);
  tuned = {kernelOf({0}), kernelOf({1}), kernelOf({2}), kernelOf({3})};
  times = llvm::cantFail(chooseInPlace(tuned, slow));
  EXPECT_EQ(kept(tuned), std::vector<bool>(4, false));
  EXPECT_EQ(times.chosenNs, times.plannedNs);
  EXPECT_LE(slow.comparisons, 4);
}

// By what a kernel takes with each grain.
class ModelOfGrains final : public ModelComparison {
public:
  explicit ModelOfGrains(std::vector<std::vector<double>> times) : times(std::move(times)) {}

  llvm::Expected<std::array<std::vector<double>, 2>> kernels(llvm::ArrayRef<tune::Tuned> tuned) override {
    ++rounds;
    std::array<std::vector<double>, 2> result;
    for (auto [of, kernel] : llvm::zip_equal(times, tuned)) {
      result[0].push_back(of[size_t(kernel.planned.value("grain"))]);
      result[1].push_back(of[size_t(kernel.best.value("grain"))]);
    }
    return result;
  }
  llvm::Expected<InPlace> models(llvm::ArrayRef<tune::Tuned> tuned) override {
    auto both = llvm::cantFail(kernels(tuned));
    auto sum = [](llvm::ArrayRef<double> values) { return std::accumulate(values.begin(), values.end(), 0.0); };
    return InPlace{sum(both[0]), sum(both[1])};
  }

  int rounds = 0;

private:
  std::vector<std::vector<double>> times;
};

// All kernels' candidates are tried at a time.
TEST(InPlace, TakesTheCandidateThatGainsMost) {
  ModelOfGrains model({{100, 90, 80, 85}, {100, 110, 120, 130}, {100}});
  std::vector<tune::Tuned> tuned;
  for (size_t kernel = 0; kernel < 3; ++kernel) {
    tune::Tuned &of = tuned.emplace_back();
    of.kernels = {kernel};
    of.planned.set("grain", 0), of.best.set("grain", 0);
    for (int64_t grain = 1; grain <= 3 && kernel < 2; ++grain) {
      of.candidates.push_back({of.planned, "source:" + std::to_string(grain)});
      of.candidates.back().schedule.set("grain", grain);
    }
  }
  InPlace times = llvm::cantFail(chooseInPlace(tuned, model));
  EXPECT_EQ(tuned[0].best.value("grain"), 2);
  EXPECT_EQ(tuned[0].from, "source:2");
  EXPECT_EQ(kept(tuned), (std::vector{true, false, false}));
  EXPECT_EQ(tuned[1].from, "");
  EXPECT_EQ(tuned[1].inPlace->bestNs, 110);
  EXPECT_EQ(times.chosenNs, 280);
  EXPECT_EQ(model.rounds, 4); // three of candidates, one of whole models
}

TEST(InPlace, ChangesNothingWhereTheModelDoesNotRun) {
  FakeModel model({100}, {50});
  model.fails = true;
  std::vector<tune::Tuned> tuned{kernelOf({0})};
  auto times = chooseInPlace(tuned, model);
  EXPECT_FALSE(bool(times));
  llvm::consumeError(times.takeError());
  EXPECT_TRUE(tuned[0].isBetter());
  EXPECT_FALSE(tuned[0].inPlace);
}

} // namespace
} // namespace fathom
