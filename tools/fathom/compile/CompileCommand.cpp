// fathom compile: a model to an artifact or to the text of a stage.
#include "tools/fathom/compile/CompileCommand.h"

#include "compiler/driver/Check.h"
#include "compiler/functional/Functional.h"
#include "compiler/package/OutputFile.h"
#include "tools/fathom/Crash.h"
#include "tools/fathom/run/ArtifactReader.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include <chrono>

using namespace llvm;

namespace fathom {

static Error unwritable(Error error) { return fail(ErrorCode::FileUnwritable, toString(std::move(error))); }

// The text of a stage: to stdout, or to a file that appears when it is whole.
static Error writeText(StringRef output, StringRef text) {
  if (output.empty())
    return outs() << text, Error::success();
  if (Error error = writeFile(output, [&](raw_ostream &out) { out << text; }))
    return unwritable(std::move(error));
  return Error::success();
}

// An import ends at the first problem; who mends a model wants to know how many there are.
static void tellOfOtherProblems(StringRef model, const ImportOptions &import, size_t told) {
  std::unique_ptr<mlir::MLIRContext> context = createContext();
  size_t count = findProblems(ModelSource::file(model), *context, import).size();
  if (count > told)
    notes() << "note: " << count - told << " more " << (count - told == 1 ? "problem" : "problems")
            << "; 'fathom check " << printable(model) << "' lists all\n";
}

int compileTo(StringRef model, StringRef output, const OptionValues &options, CommandBit command, CompileReport &report,
              Cancellation *stop) {
  std::unique_ptr<mlir::MLIRContext> context = createContext();
  DiagnosticLog log(*context, sys::path::filename(model), printDiagnostic);
  auto request = makeCompileRequest(options, *context, command);
  if (failed(request))
    return log.exitCode();
  auto start = std::chrono::steady_clock::now();
  showProgress("import", 0, 0);
  mlir::OwningOpRef<mlir::ModuleOp> module = importAny(ModelSource::file(model), *context, request->import);
  if (!module) {
    if (command == CompileBit)
      tellOfOtherProblems(model, request->import, log.errors().size());
    return log.exitCode();
  }
  std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  report.stages.emplace_back("import", seconds.count());
  std::string text;
  raw_string_ostream textStream(text);
  request->options.text = &textStream;
  request->options.progress = showProgress;
  request->options.tuning.stop = stop, request->options.tuning.model = sys::path::stem(model).str();
  bool emits = request->options.stop != Stage::Artifact;
  if (!output.empty())
    if (Error error = checkOutput(*module, output, /*special=*/emits))
      return fathom::report(unwritable(std::move(error)));
  if (options.has("profile"))
    if (Error error = checkOutput(*module, options.text("profile"), /*special=*/true))
      return fathom::report(unwritable(std::move(error)));
  if (failed(compileModule(*module, request->options, output, report)))
    return log.exitCode();
  clearProgress();
  return emits ? fathom::report(writeText(output, text)) : 0;
}

TemporaryArtifact::~TemporaryArtifact() {
  if (!file.empty())
    sys::fs::remove(file);
}

Expected<int> TemporaryArtifact::compile(StringRef model, const OptionValues &options, CommandBit command,
                                         CompileReport &report) {
  SmallString<128> path;
  if (std::error_code code = sys::fs::createTemporaryFile("fathom", "fathom", path))
    return fail(ErrorCode::FileUnwritable, "cannot create a temporary file: " + code.message());
  file = std::string(path);
  removeWhenInterrupted(file);
  return compileTo(model, file, options, command, report);
}

// How much larger the packed weights are than the model's, in words.
static std::string spellGrowth(int64_t packed, int64_t source) {
  return source > 0 ? formatv("{0:f2} x the model's", double(packed) / source).str() : "none in the model";
}

void printSources(const tune::TransferSources &sources, raw_ostream &out) {
  out << "schedules are taken from "
      << (sources.isWholePool      ? "all models"
          : sources.chosen.empty() ? "no model"
                                   : sources.chosen);
  if (!sources.scores.empty())
    out << "; scores:";
  for (const tune::SourceScore &source : sources.scores)
    out << formatv(" {0} {1:f3}", source.model, source.score);
  out << "\n";
}

// How much larger the weights of an artifact for several CPUs are than those of one of them at most.
static int64_t weightGrowth(const CompileReport &report) {
  int64_t most = 0;
  for (const VariantReport &variant : report.variants)
    most = std::max(most, variant.weightBytes);
  return report.variants.empty() ? 0 : report.weightBytes - most;
}

static void printReport(StringRef model, StringRef output, const CompileReport &report,
                        const ArtifactSummary &artifact) {
  raw_ostream &out = notes();
  const json::Object *target = artifact.manifest.getObject("target");
  out << sys::path::filename(model) << " -> " << output << " for "
      << (target ? target->getString("triple").value_or("?") : "?") << ":"
      << (artifact.variants.empty() ? cpuOf(artifact.manifest).str() : join(artifact.variants, ", ")) << "\n";
  double total = 0;
  for (const auto &[stage, seconds] : report.stages)
    out << formatv("  {0,-10}{1,7:f3} s\n", stage, seconds), total += seconds;
  out << formatv("  {0,-10}{1,7:f3} s\n", "total", total);
  out << "  artifact  " << spellBytes(artifact.fileBytes) << ", of which code " << spellBytes(artifact.codeBytes)
      << "\n";
  out << "  kernels   " << report.kernels << ", of " << report.codes << " pieces of code\n";
  out << "  weights   " << spellBytes(report.weightBytes) << ", "
      << spellGrowth(report.weightBytes, report.sourceWeightBytes) << "\n";
  for (const VariantReport &variant : report.variants)
    out << formatv("    {0}: {1} kernels, weights {2}, arena {3}\n", variant.cpu, variant.kernels,
                   spellBytes(variant.weightBytes),
                   variant.arenaBytes ? spellBytes(*variant.arenaBytes) : "depends on the symbolic dimensions");
  if (!report.variants.empty())
    out << "    " << spellBytes(weightGrowth(report)) << " more weights than one of them alone has at most\n";
  if (report.sources)
    printSources(*report.sources, out);
  if (!report.variants.empty())
    return;
  auto arena = artifact.manifest.getInteger("arena_bytes");
  out << "  arena     " << (arena ? spellBytes(*arena) : "depends on the symbolic dimensions") << "\n";
}

static json::Object describeReport(const CompileReport &report, const ArtifactSummary &artifact, StringRef output) {
  json::Object stages, passes;
  for (const auto &[stage, seconds] : report.stages)
    stages[stage] = seconds;
  for (const auto &[pass, seconds] : report.passes)
    passes[pass] = seconds;
  const json::Value *arena = artifact.manifest.get("arena_bytes");
  json::Array variants;
  for (const VariantReport &variant : report.variants)
    variants.push_back(
        json::Object{{"cpu", variant.cpu},
                     {"kernels", int64_t(variant.kernels)},
                     {"weight_bytes", variant.weightBytes},
                     {"arena_bytes", variant.arenaBytes ? json::Value(*variant.arenaBytes) : json::Value(nullptr)}});
  return json::Object{{"artifact", output},
                      {"seconds", std::move(stages)},
                      {"pass_seconds", std::move(passes)},
                      {"artifact_bytes", int64_t(artifact.fileBytes)},
                      {"code_bytes", int64_t(artifact.codeBytes)},
                      {"kernels", int64_t(report.kernels)},
                      {"codes", int64_t(report.codes)},
                      {"variants", std::move(variants)},
                      {"weight_bytes", report.weightBytes},
                      {"weight_growth_bytes", weightGrowth(report)},
                      {"source_weight_bytes", report.sourceWeightBytes},
                      {"arena_bytes", arena ? *arena : json::Value(nullptr)}};
}

int printTargets(const OptionValues &options) {
  if (options.flag("json"))
    printJson(json::Object{{"cpus", json::Array(knownCpus())}}, /*oneLine=*/true);
  else
    for (const std::string &cpu : knownCpus())
      outs() << cpu << "\n";
  return 0;
}

Expected<int> compileCommand(const Arguments &arguments) {
  const OptionValues &options = arguments.options;
  if (options.text("target") == "help")
    return printTargets(options);
  StringRef model = arguments.positional[0];
  std::string output = options.text("output");
  if (output == "-" && !options.has("emit"))
    return fail(usageError, "an artifact cannot be written to stdout", "give --output the name of a file, or './-'");
  if (output == "-") // as other tools understand it, and as it is without the option
    output.clear();
  if (output.empty() && !options.has("emit"))
    output = (sys::path::stem(model) + ".fathom").str();
  CompileReport report;
  if (int exitCode = compileTo(model, output, options, CompileBit, report); exitCode || options.has("emit"))
    return exitCode;
  auto artifact = readArtifact(output);
  if (!artifact)
    return artifact.takeError();
  printReport(model, output, report, *artifact);
  if (options.flag("json"))
    printJson(describeReport(report, *artifact, output), /*oneLine=*/true);
  return 0;
}

} // namespace fathom
