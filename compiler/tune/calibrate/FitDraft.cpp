// Coordinate descent over constants, in steps that get smaller.
#include "compiler/tune/calibrate/FitDraft.h"

#include "compiler/tune/calibrate/LogError.h"
#include "llvm/ADT/MapVector.h"
#include <cmath>

namespace fathom::tune {
namespace {

// What a constant costs that is e times what it was, in samples that are wrong by so much.
constexpr double attachment = 0.5;

// A constant times a factor; from 0 on, a share of its range. Nothing beyond its range.
double changed(const CalibrationField &field, double value, double factor) {
  double next = value > 0 ? value * factor : factor > 1 ? field.min + (field.max - field.min) * 1e-3 : value;
  return std::clamp(next, field.min, field.max);
}

double distance(const CalibrationField &field, double value, double from) {
  double least = (field.max - field.min) * 1e-3;
  double logs = std::log((value + least) / (from + least));
  return logs * logs;
}

} // namespace

std::vector<const CalibrationField *> constantsThatCount(const Calibration &start, DraftModel model) {
  std::vector<const CalibrationField *> found;
  std::vector<double> before = model(start);
  for (const CalibrationField &field : calibrationFields())
    for (double factor : {2.0, 0.5}) {
      Calibration other = start;
      other.*field.member = changed(field, start.*field.member, factor);
      if (other.*field.member != start.*field.member && model(other) != before) {
        found.push_back(&field);
        break;
      }
    }
  return found;
}

Calibration fitDraft(llvm::ArrayRef<Sample> samples, const Calibration &start, DraftModel model) {
  LogError error(samples);
  std::vector<const CalibrationField *> fields = constantsThatCount(start, model);
  auto costOf = [&](const Calibration &constants) {
    double cost = error.of(model(constants));
    for (const CalibrationField *field : fields)
      cost += attachment * distance(*field, constants.*field->member, start.*field->member);
    return cost;
  };
  Calibration best = start;
  double least = costOf(best);
  for (double step : {2.0, 1.4, 1.15}) {
    constexpr int sweeps = 4;
    for (int sweep = 0; sweep < sweeps; ++sweep) {
      double before = least;
      for (const CalibrationField *field : fields)
        for (double factor : {step, 1 / step}) {
          Calibration next = best;
          next.*field->member = changed(*field, best.*field->member, factor);
          if (next.*field->member == best.*field->member)
            continue;
          if (double cost = costOf(next); cost < least) {
            best = next, least = cost;
            break;
          }
        }
      if (least > before * 0.999)
        break;
    }
  }
  return best;
}

std::vector<DraftValidation> crossValidateDraft(llvm::ArrayRef<Sample> samples, const Calibration &start,
                                                DraftModel model) {
  constexpr size_t mostGroups = 5;
  llvm::MapVector<llvm::StringRef, std::vector<size_t>> kernels;
  for (auto [i, sample] : llvm::enumerate(samples))
    kernels[sample.kernel].push_back(i);
  std::vector<DraftValidation> validations;
  if (kernels.size() < 2)
    return validations;
  auto valuesAt = [](llvm::ArrayRef<double> values, llvm::ArrayRef<size_t> places) {
    std::vector<double> chosen;
    for (size_t place : places)
      chosen.push_back(values[place]);
    return chosen;
  };
  std::vector<double> before = model(start), measured;
  for (const Sample &sample : samples)
    measured.push_back(sample.nanoseconds);
  size_t groups = std::min(mostGroups, kernels.size());
  for (size_t group = 0; group < groups; ++group) {
    std::vector<Sample> others;
    std::vector<size_t> places;
    for (auto [number, kernel] : llvm::enumerate(kernels))
      if (number % groups != group)
        for (size_t place : kernel.second)
          others.push_back(samples[place]), places.push_back(place);
    Calibration constants =
        fitDraft(others, start, [&](const Calibration &constants) { return valuesAt(model(constants), places); });
    std::vector<double> fitted = model(constants);
    for (auto [number, kernel] : llvm::enumerate(kernels)) {
      llvm::ArrayRef<size_t> own = kernel.second;
      if (number % groups == group)
        validations.push_back({samples[own.front()].name, samples[own.front()].kernelClass,
                               rank(valuesAt(fitted, own), valuesAt(measured, own)),
                               rank(valuesAt(before, own), valuesAt(measured, own))});
    }
  }
  return validations;
}

} // namespace fathom::tune
