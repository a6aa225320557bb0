// Coefficients of scores as text, and those that are built in.
#include "compiler/analysis/Coefficients.h"

#include "compiler/support/NumberText.h"
#include "compiler/support/YamlText.h"
#include "llvm/Support/raw_ostream.h"
#include <map>

namespace fathom {

const llvm::StringLiteral featureNames[featureCount] = {
    "busy",   "waits", "hidden", "starts", "multiply-adds", "vector-loads", "vector-stores",
    "others", "near",  "far",    "memory", "written",       "packed",       "tasks"};

std::optional<Feature> findFeature(llvm::StringRef name) {
  for (auto [i, known] : llvm::enumerate(featureNames))
    if (known == name)
      return Feature(i);
  return std::nullopt;
}

double score(const Features &features, const Coefficients &coefficients) {
  double sum = 0;
  for (auto [feature, coefficient] : llvm::zip(features, coefficients.values))
    sum += feature * coefficient;
  return sum;
}

namespace {

constexpr double largest = 1e6; // coefficient, and time of a cycle in nanoseconds

// A number that is printed with all of its digits.
struct Number {
  double value = 0;
};

struct ScoreFile {
  std::map<std::string, Coefficients> scores;
};

constexpr llvm::StringLiteral builtin =
#include "compiler/target/calibration/score.inc"
    ;

} // namespace
} // namespace fathom

LLVM_YAML_IS_STRING_MAP(fathom::Number)
LLVM_YAML_IS_STRING_MAP(fathom::Coefficients)

namespace llvm::yaml {

template <> struct ScalarTraits<fathom::Number> {
  static void output(const fathom::Number &number, void *, raw_ostream &out) {
    out << fathom::spellNumber(number.value);
  }
  static StringRef input(StringRef text, void *context, fathom::Number &number) {
    return ScalarTraits<double>::input(text, context, number.value);
  }
  static QuotingType mustQuote(StringRef) { return QuotingType::None; }
};

template <> struct MappingTraits<fathom::Coefficients> {
  static void mapping(IO &io, fathom::Coefficients &coefficients) {
    io.mapRequired("source", coefficients.source);
    std::optional<fathom::Number> nanoseconds;
    if (coefficients.nanoseconds)
      nanoseconds = {*coefficients.nanoseconds};
    io.mapOptional("nanoseconds", nanoseconds);
    std::map<std::string, fathom::Number> values;
    for (auto [name, value] : zip(fathom::featureNames, coefficients.values))
      if (value != 0)
        values[name.str()] = {value};
    io.mapRequired("coefficients", values);
    if (io.outputting())
      return;
    if (nanoseconds) {
      coefficients.nanoseconds = nanoseconds->value;
      if (!(nanoseconds->value > 0 && nanoseconds->value <= fathom::largest))
        io.setError("nanoseconds of a cycle must be positive and at most a million");
    }
    double sum = 0;
    coefficients.values = {};
    for (const auto &[name, number] : values) {
      std::optional<fathom::Feature> feature = fathom::findFeature(name);
      if (!feature)
        return io.setError("no feature of scores is called '" + name + "'");
      if (!(number.value >= 0 && number.value <= fathom::largest))
        return io.setError("the coefficient of '" + name + "' must be from 0 to a million");
      coefficients.values[unsigned(*feature)] = number.value;
      sum += number.value;
    }
    if (sum == 0)
      io.setError("all coefficients are 0");
  }
};

template <> struct MappingTraits<fathom::ScoreFile> {
  static void mapping(IO &io, fathom::ScoreFile &file) { io.mapRequired("scores", file.scores); }
};

template <> struct MappingTraits<fathom::MachineCalibration> {
  static void mapping(IO &io, fathom::MachineCalibration &calibration) {
    int version = 1;
    io.mapRequired("fathom-calibration", version);
    if (version != 1)
      io.setError("version " + Twine(version) + " of calibrations is not 1");
    io.mapRequired("target", calibration.target);
    io.mapOptional("score", calibration.score);
    std::map<std::string, fathom::Number> constants;
    for (const auto &[name, value] : calibration.constants)
      constants[name] = {value};
    if (!io.outputting() || !constants.empty())
      io.mapOptional("constants", constants);
    fathom::Calibration checked = fathom::Calibration::byDefault();
    for (const auto &[name, number] : constants) {
      if (Error error = fathom::setConstant(checked, name, number.value))
        return io.setError(toString(std::move(error)));
      calibration.constants[name] = number.value;
    }
  }
};

} // namespace llvm::yaml

namespace fathom {

// The file is a part of the compiler: a mistake in it is one of ours, and ends every test.
static const ScoreFile &builtinScores() {
  static const ScoreFile file = llvm::cantFail(parseYaml<ScoreFile>(builtin, "score.yaml", "calibration"));
  return file;
}

const Coefficients &pureLatencies() { return builtinScores().scores.at("latencies"); }

const Coefficients &coefficientsFor(const Target &target) {
  const auto &scores = builtinScores().scores;
  auto found = scores.find(target.isAArch64() ? "aarch64" : "x86-64");
  return found == scores.end() ? pureLatencies() : found->second;
}

llvm::Expected<MachineCalibration> parseCalibration(llvm::StringRef text, llvm::StringRef fileName) {
  return parseYaml<MachineCalibration>(text, fileName, "calibration");
}

std::string printCalibration(const MachineCalibration &calibration) {
  std::string text;
  llvm::raw_string_ostream out(text);
  llvm::yaml::Output yaml(out, nullptr, /*WrapColumn=*/0);
  MachineCalibration printed = calibration;
  yaml << printed;
  return text;
}

} // namespace fathom
