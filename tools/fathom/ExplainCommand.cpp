// fathom explain: what became of every node, what each kernel has to do, and how long it took.
#include "compiler/package/OutputFile.h"
#include "tools/fathom/ArtifactReader.h"
#include "tools/fathom/CompileCommand.h"
#include "tools/fathom/ExplainCost.h"
#include "tools/fathom/ExplainHtml.h"
#include "tools/fathom/ExplainNodes.h"
#include "tools/fathom/MachinePeak.h"
#include "tools/fathom/PreparedRun.h"
#include "tools/fathom/SizeExpression.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/Path.h"

using namespace llvm;

namespace fathom {
namespace {

// What a run tells about one kernel.
struct Measured {
  double seconds = 0;
  int64_t launches = 0;
};

struct Run {
  std::vector<Measured> kernels;
  Sizes sizes;
  MachinePeak peak;
  int threads = 1;
};

// The least time of each kernel over a few runs: what else the machine does only adds to it.
Expected<Run> profile(StringRef path, const OptionValues &options) {
  auto prepared = prepareRun(path, options);
  if (!prepared)
    return prepared.takeError();
  LoadedModel &model = *prepared->model;
  Run result;
  for (auto [spec, value] : zip(model.inputs, prepared->inputs))
    for (auto [size, dim, name] : zip(value.dims, spec.dims, spec.dimNames))
      if (dim < 0)
        result.sizes[name] = size;
  result.kernels.resize(fathom_model_kernel_count(model.model));
  fathom_context_set_profiling(model.context, 1);
  constexpr int runs = 6;
  for (int run = 0; run < runs; ++run) {
    if (Error error = prepared->run())
      return std::move(error);
    std::vector<Measured> now(result.kernels.size());
    for (size_t i = 0; i < fathom_context_profile_count(model.context); ++i) {
      fathom_profile_entry entry;
      if (Error error = takeStatus(fathom_context_profile(model.context, i, &entry)))
        return std::move(error);
      now[entry.kernel].seconds += double(entry.end_ns - entry.start_ns) * 1e-9;
      ++now[entry.kernel].launches;
    }
    // The first run is cold.
    for (auto [best, one] : zip(result.kernels, now))
      if (run < 2 || one.seconds < best.seconds)
        best = one;
  }
  result.threads = fathom_context_threads(model.context);
  result.peak = measurePeak(result.threads);
  return std::move(result);
}

// The share of what the machine could do at most. Nothing where that says little: the kernel moves data that the caches
// hold, or is over before it has begun.
std::optional<double> shareOfRoofline(double flop, double bytes, double seconds, const MachinePeak &peak) {
  constexpr double shortest = 5e-6;
  if (seconds < shortest || peak.flopPerSecond <= 0 || peak.bytesPerSecond <= 0)
    return std::nullopt;
  double computing = flop / peak.flopPerSecond, moving = bytes / peak.bytesPerSecond;
  if (computing < moving && bytes < double(lastLevelCacheBytes()))
    return std::nullopt;
  return std::max(computing, moving) / seconds;
}

// Adds what is known of a kernel to its description.
void measureKernel(json::Object &kernel, size_t index, const Sizes &sizes, const Run *run) {
  auto flop = evaluate(kernel.get("flop"), sizes), bytes = evaluate(kernel.get("bytes"), sizes);
  auto put = [&](StringRef name, std::optional<double> value) {
    kernel[name] = value ? json::Value(*value) : json::Value(nullptr);
  };
  put("flop", flop);
  put("bytes", bytes);
  if (!run || index >= run->kernels.size())
    return;
  const Measured &measured = run->kernels[index];
  kernel["launches"] = measured.launches;
  put("ms", measured.launches ? std::optional(measured.seconds * 1e3) : std::nullopt);
  double launches = double(measured.launches), seconds = measured.seconds;
  bool isKnown = flop && bytes && seconds > 0;
  put("gflop_per_second", isKnown ? std::optional(*flop * launches / seconds * 1e-9) : std::nullopt);
  put("roofline_share",
      isKnown ? shareOfRoofline(*flop * launches, *bytes * launches, seconds, run->peak) : std::nullopt);
}

std::string spellCount(std::optional<double> count, StringRef unit) {
  if (!count)
    return "? " + unit.str();
  static constexpr StringRef prefixes[] = {"", "k", "M", "G", "T"};
  size_t prefix = 0;
  double value = *count;
  for (; value >= 1000 && prefix + 1 < std::size(prefixes); value /= 1000)
    ++prefix;
  return formatv("{0:f1} {1}{2}", value, prefixes[prefix], unit);
}

std::string spellType(const json::Object &op) {
  StringRef type = op.getString("type").value_or("");
  return type.empty() ? "" : "; " + printable(type);
}

void printOps(const json::Array *ops, StringRef indent) {
  for (const json::Value &value : ops ? *ops : json::Array())
    if (const json::Object *op = value.getAsObject())
      outs() << indent << printable(op->getString("node").value_or("")) << " (" << op->getString("op").value_or("?")
             << "): " << printable(op->getString("why").value_or("")) << spellType(*op) << "\n";
}

void printKnobs(const json::Object &of) {
  if (const json::Object *knobs = of.getObject("schedule"))
    for (const auto &[name, knob] : *knobs)
      outs() << " " << StringRef(name) << "=" << knob.getAsInteger().value_or(0);
  outs() << "\n";
}

// The parts that take at least half a percent, the largest first.
void printEstimate(const json::Object &parts, StringRef where) {
  double total = parts.getNumber("total").value_or(0);
  std::vector<std::pair<double, StringRef>> shares;
  for (const auto &[name, cycles] : parts)
    if (double share = cycles.getAsNumber().value_or(0) / std::max(1.0, total); StringRef(name) != "total")
      shares.emplace_back(share, name);
  sort(shares,
       [](const auto &a, const auto &b) { return a.first != b.first ? a.first > b.first : a.second < b.second; });
  outs() << where << spellCount(total, "cycles");
  StringRef separator = ": ";
  for (auto [share, name] : shares)
    if (share >= 0.005) {
      std::string spelled = name.str();
      std::replace(spelled.begin(), spelled.end(), '_', ' ');
      outs() << separator << formatv("{0} {1:f0} %", spelled, 100 * share);
      separator = ", ";
    }
  outs() << "\n";
}

void printKernel(const json::Object &kernel, size_t index) {
  outs() << formatv("{0}. {1} '{2}': {3}, {4}", index + 1, kernel.getString("class").value_or("?"),
                    printable(kernel.getString("result").value_or("?")), spellCount(kernel.getNumber("flop"), "FLOP"),
                    spellCount(kernel.getNumber("bytes"), "B"));
  if (auto ms = kernel.getNumber("ms"))
    outs() << formatv(", {0:f3} ms", *ms);
  if (kernel.getInteger("launches").value_or(1) != 1)
    outs() << formatv(" in {0} launches", *kernel.getInteger("launches"));
  if (auto rate = kernel.getNumber("gflop_per_second"); rate && kernel.getNumber("flop").value_or(0) > 0)
    outs() << formatv(", {0:f1} GFLOP/s", *rate);
  if (auto share = kernel.getNumber("roofline_share"))
    outs() << formatv(", {0:f0} % of the roofline", 100 * *share);
  outs() << "\n     algorithm: " << printable(kernel.getString("algorithm").value_or("?")) << "\n     stages: ";
  const json::Array *stages = kernel.getArray("stages");
  interleave(
      stages ? *stages : json::Array(), outs(),
      [](const json::Value &stage) { outs() << stage.getAsString().value_or("?"); }, " -> ");
  outs() << "\n     schedule:";
  printKnobs(kernel);
  const json::Array *versions = kernel.getArray("versions");
  for (const json::Value &value : versions ? *versions : json::Array())
    if (const json::Object *version = value.getAsObject()) {
      outs() << "     up to " << version->getInteger("up_to").value_or(0) << ":";
      printKnobs(*version);
    }
  if (const json::Object *estimate = kernel.getObject("estimate")) {
    int64_t threads = estimate->getInteger("threads").value_or(1);
    if (const json::Object *alone = estimate->getObject("one_thread"))
      printEstimate(*alone, "     estimate: one thread ");
    if (const json::Object *together = estimate->getObject("all_threads"); together && threads > 1)
      printEstimate(*together, formatv("               {0} threads ", threads).str());
  }
  if (auto why = kernel.getString("sequential"); why && !why->empty())
    outs() << "     sequential because " << printable(*why) << "\n";
  printOps(kernel.getArray("ops"), "     ");
  const json::Array *apart = kernel.getArray("apart");
  for (const json::Value &value : apart ? *apart : json::Array())
    if (const json::Object *other = value.getAsObject())
      outs() << "     not with '" << printable(other->getString("kernel").value_or("?"))
             << "': " << printable(other->getString("why").value_or("")) << "\n";
}

struct Explained {
  json::Object manifest;
  json::Array kernels;
  std::optional<Run> run;
};

Expected<Explained> explainArtifact(StringRef path, const OptionValues &options) {
  auto artifact = readArtifact(path);
  if (!artifact)
    return artifact.takeError();
  auto sizes = parseDims(options);
  if (!sizes)
    return sizes.takeError();
  Explained told{std::move(artifact->manifest), {}, {}};
  if (options.flag("run")) {
    auto profiled = profile(path, options);
    if (!profiled)
      return profiled.takeError();
    told.run = std::move(*profiled);
    sizes = told.run->sizes;
  }
  if (json::Array *kernels = told.manifest.getArray("kernels"))
    told.kernels = *kernels;
  for (auto [i, kernel] : enumerate(told.kernels))
    if (json::Object *object = kernel.getAsObject())
      measureKernel(*object, i, *sizes, told.run ? &*told.run : nullptr);
  return std::move(told);
}

// The page of a model; where schedules are from a database, beside what the draft alone would have chosen.
Expected<int> writeHtml(StringRef model, StringRef source, const Explained &told, const OptionValues &options) {
  bool isTuned = any_of(told.kernels, [](const json::Value &kernel) {
    return kernel.getAsObject() && kernel.getAsObject()->get("schedule_entry");
  });
  std::optional<Explained> draft;
  if (isTuned && !source.empty()) {
    OptionValues without;
    for (const Option &option : optionTable())
      for (const std::string &value : option.name == "db" ? std::vector<std::string>() : options.all(option.name))
        if (Error error = without.set(option, value))
          return std::move(error);
    if (Error error = without.set(*findOption("db", ExplainBit), "none"))
      return std::move(error);
    GivenArtifact compiled;
    Expected<int> exitCode = compiled.open(source, without, ExplainBit);
    if (!exitCode || *exitCode)
      return exitCode;
    auto explained = explainArtifact(compiled.path(), without);
    if (!explained)
      return explained.takeError();
    draft = std::move(*explained);
  }
  Error error = writeFile(options.text("html"), [&](raw_ostream &out) {
    printHtml(sys::path::filename(model), told.kernels, draft ? &draft->kernels : nullptr,
              told.run ? told.run->threads : 1, out);
  });
  if (error)
    return fail(ErrorCode::FileUnwritable, toString(std::move(error)));
  return 0;
}

} // namespace

Expected<int> explainCommand(const Arguments &arguments) {
  const OptionValues &options = arguments.options;
  if (options.has("cost"))
    return explainCost(arguments.positional[0], options);
  GivenArtifact given;
  Expected<int> exitCode = given.open(arguments.positional[0], options, ExplainBit);
  if (!exitCode || *exitCode)
    return exitCode;
  auto told = explainArtifact(given.path(), options);
  if (!told)
    return told.takeError();
  if (options.has("html"))
    return writeHtml(arguments.positional[0], given.source(), *told, options);
  const std::optional<Run> &run = told->run;
  json::Array others = explainOtherNodes(told->manifest, given.source(), options);
  if (options.flag("json")) {
    json::Object result{{"kernels", json::Array(told->kernels)}, {"other_nodes", std::move(others)}};
    if (run)
      result["peak"] = json::Object{{"threads", run->threads},
                                    {"gflop_per_second", run->peak.flopPerSecond * 1e-9},
                                    {"gb_per_second", run->peak.bytesPerSecond * 1e-9}};
    printJson(std::move(result), /*oneLine=*/true);
    return 0;
  }
  if (run)
    outs() << formatv("roofline of this machine with {0} threads: {1:f1} GFLOP/s, {2:f1} GB/s, measured\n",
                      run->threads, run->peak.flopPerSecond * 1e-9, run->peak.bytesPerSecond * 1e-9);
  for (auto [i, kernel] : enumerate(told->kernels))
    if (const json::Object *object = kernel.getAsObject())
      printKernel(*object, i);
  if (!others.empty())
    outs() << "in no kernel:\n";
  printOps(&others, "     ");
  return 0;
}

} // namespace fathom
