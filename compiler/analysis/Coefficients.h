// What the features of a score count: calibration data, which was fitted to measurements, by architecture family, in
// compiler/target/calibration/score.yaml; or in a file that 'fathom calibrate' wrote for one machine.
#pragma once

#include "compiler/target/Target.h"
#include <array>
#include <map>
#include <optional>

namespace fathom {

// Of an estimate, each in cycles as the machine's description and LLVM's model of the core have them.
enum class Feature {
  Busy,         // in the pipeline, as LLVM's model has it: where units and the front end have nothing else to do,
  Waits,        // where results are waited for,
  Hidden,       // and where a core that looks ahead need not wait
  Starts,       // until a loop is under way, each time that it begins
  MultiplyAdds, // that instructions of a kind take where they keep their units busy
  VectorLoads,
  VectorStores,
  Others,
  Near,    // of filling the first cache, from the second,
  Far,     // all caches between the first and the last,
  Memory,  // and the last, from memory
  Written, // the same for what is written, and leaves each cache again
  Packed,  // of writing packed operands
  Tasks,   // runs of tasks that are handed out
};
constexpr unsigned featureCount = unsigned(Feature::Tasks) + 1;
extern const llvm::StringLiteral featureNames[featureCount];
using Features = std::array<double, featureCount>;
std::optional<Feature> findFeature(llvm::StringRef name);

struct Coefficients {
  std::string source;
  Features values{};
  // How long a cycle of the score takes, where it was fitted.
  std::optional<double> nanoseconds;
};

// In cycles.
double score(const Features &features, const Coefficients &coefficients);

// Without any fit: cycles as models and machine files say, and nothing hidden behind anything else.
const Coefficients &pureLatencies();
// Those fitted for a target's architecture family, or else pure latencies.
const Coefficients &coefficientsFor(const Target &target);

// What 'fathom calibrate' found for a machine.
struct MachineCalibration {
  std::string target; // which the numbers are for
  std::optional<Coefficients> score;
  std::map<std::string, double> constants; // of the drafts
};

llvm::Expected<MachineCalibration> parseCalibration(llvm::StringRef text, llvm::StringRef fileName);
std::string printCalibration(const MachineCalibration &calibration);

} // namespace fathom
