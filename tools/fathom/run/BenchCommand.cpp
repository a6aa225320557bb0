// fathom bench: the time of a run as percentiles, and where it goes as a Chrome trace.
#include "compiler/package/OutputFile.h"
#include "tools/fathom/run/ArtifactReader.h"
#include "tools/fathom/run/Percentile.h"
#include "tools/fathom/run/PreparedRun.h"
#include "tools/fathom/run/ThroughputBench.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include <chrono>

using namespace llvm;

namespace fathom {

using Clock = std::chrono::steady_clock;

static double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Times runs until both enough time and enough runs for percentiles have passed.
static Expected<std::vector<double>> measure(PreparedRun &prepared, double minTime, size_t minRuns) {
  std::vector<double> times;
  auto start = Clock::now();
  do {
    auto begin = Clock::now();
    if (Error error = prepared.run())
      return std::move(error);
    times.push_back(secondsSince(begin) * 1e3);
    showProgress("bench", times.size(), 0);
  } while (secondsSince(start) < minTime || times.size() < minRuns);
  clearProgress();
  return std::move(times);
}

namespace {
struct Figures {
  explicit Figures(ArrayRef<double> sorted)
      : fastest(sorted.front()), p10(percentile(sorted, 0.1)), median(percentile(sorted, 0.5)),
        p90(percentile(sorted, 0.9)), p99(percentile(sorted, 0.99)) {}
  double fastest, p10, median, p90, p99; // milliseconds
};
} // namespace

// Three digits, as more say nothing of a time.
static std::string spellTime(double milliseconds) {
  auto [value, unit] = milliseconds >= 1000  ? std::pair(milliseconds / 1000, "s")
                       : milliseconds >= 0.1 ? std::pair(milliseconds, "ms")
                                             : std::pair(milliseconds * 1000, "us");
  int digits = value >= 100 ? 0 : value >= 10 ? 1 : 2;
  std::string text;
  raw_string_ostream out(text);
  out << format("%.*f ", digits, value) << unit;
  return text;
}

// For people: what they came for in the first line, and what it was measured with below.
static void printFigures(const Figures &figures, size_t runs, double first, const PreparedRun &prepared, size_t arena) {
  const LoadedModel &model = *prepared.model;
  int threads = fathom_context_threads(model.context);
  double rate = 1000 / figures.median;
  outs() << spellTime(figures.median) << " median, " << format(rate < 10 ? "%.1f" : "%.0f", rate) << "/s, " << threads
         << (threads == 1 ? " thread\n" : " threads\n");
  outs() << "  fastest " << spellTime(figures.fastest) << ", p10 " << spellTime(figures.p10) << ", p90 "
         << spellTime(figures.p90) << ", p99 " << spellTime(figures.p99) << "; " << runs << " runs, the first of all "
         << spellTime(first) << "\n";
  std::vector<std::string> sizes;
  for (auto [spec, value] : zip(model.inputs, prepared.inputs)) {
    outs() << "  input " << printable(spec.name) << ": " << fathom_dtype_name(value.dtype) << spellDims(value.dims)
           << "\n";
    for (size_t axis = 0; axis < spec.dims.size(); ++axis)
      if (std::string text = spec.dims[axis] < 0 ? formatv("{0}={1}", spec.dimNames[axis], value.dims[axis]).str() : "";
          !text.empty() && !is_contained(sizes, text))
        sizes.push_back(text);
  }
  if (!sizes.empty())
    outs() << "  sizes " << printable(join(sizes, ", ")) << "; --dim gives others\n";
  if (StringRef variant = fathom_model_variant(model.model); !variant.empty())
    outs() << "  code for " << variant << ", the best that this machine can run\n";
  outs() << "  memory " << spellBytes(arena) << " besides " << spellBytes(fathom_model_weights_bytes(model.model))
         << " of weights\n";
  // On an idle machine a tenth of the runs takes a few percent more than the others.
  constexpr double usual = 1.25;
  if (figures.p90 > usual * figures.median || figures.median > usual * figures.p10)
    notes() << "warning: times spread: a tenth of the runs took over " << format("%.2f", figures.p90 / figures.p10)
            << " x the fastest tenth; the machine is busy, or its clock changes\n";
}

// What one thread did of a kernel, as an event of chrome://tracing.
static Expected<json::Value> traceEvent(const LoadedModel &model, size_t index) {
  fathom_profile_part part;
  fathom_profile_entry launch;
  fathom_kernel_info kernel;
  if (Error error = takeStatus(fathom_context_profile_part(model.context, index, &part)))
    return std::move(error);
  if (Error error = takeStatus(fathom_context_profile(model.context, part.launch, &launch)))
    return std::move(error);
  if (Error error = takeStatus(fathom_model_kernel(model.model, launch.kernel, &kernel)))
    return std::move(error);
  return json::Object{{"name", kernel.name},
                      {"cat", "kernel"},
                      {"ph", "X"},
                      {"ts", part.start_ns / 1e3},
                      {"dur", (part.end_ns - part.start_ns) / 1e3},
                      {"pid", 1},
                      {"tid", part.thread},
                      {"args", json::Object{{"nodes", kernel.nodes},
                                            {"launch", part.launch},
                                            {"tasks", part.tasks},
                                            {"tasks of all threads", launch.tasks}}}};
}

// A trace goes neither to stdout, where the result is, nor into the model.
static Error checkTrace(StringRef model, StringRef path) {
  if (path == "-")
    return fail(usageError, "a trace cannot be written to stdout", "give --profile the name of a file, or './-'");
  if (Error error = checkOutput(model, path, /*special=*/true))
    return fail(ErrorCode::FileUnwritable, toString(std::move(error)));
  return Error::success();
}

// One run in the format of chrome://tracing and Perfetto, a row for each thread.
static Error writeTrace(PreparedRun &prepared, StringRef path) {
  LoadedModel &model = *prepared.model;
  fathom_context_set_profiling(model.context, 2);
  if (Error error = prepared.run())
    return error;
  fathom_context_set_profiling(model.context, 0);
  json::Array events;
  for (int32_t thread = 0; thread < fathom_context_threads(model.context); ++thread)
    events.push_back(json::Object{{"name", "thread_name"},
                                  {"ph", "M"},
                                  {"pid", 1},
                                  {"tid", thread},
                                  {"args", json::Object{{"name", formatv("thread {0}", thread).str()}}}});
  for (size_t i = 0; i < fathom_context_profile_part_count(model.context); ++i) {
    Expected<json::Value> event = traceEvent(model, i);
    if (!event)
      return event.takeError();
    events.push_back(std::move(*event));
  }
  json::Value trace = json::Object{{"traceEvents", std::move(events)}, {"displayTimeUnit", "ms"}};
  if (Error error = writeFile(path, [&](raw_ostream &out) { out << trace << "\n"; }))
    return fail(ErrorCode::FileUnwritable, toString(std::move(error)));
  notes() << "trace of one run in " << path << ", for chrome://tracing or ui.perfetto.dev\n";
  return Error::success();
}

static std::string targetOf(const ArtifactSummary &artifact) {
  const json::Object *target = artifact.manifest.getObject("target");
  return target ? (target->getString("triple").value_or("?") + ":" + target->getString("cpu").value_or("?")).str()
                : "?";
}

Expected<int> benchCommand(const Arguments &arguments) {
  const OptionValues &options = arguments.options;
  if (options.text("target") == "help")
    return printTargets(options);
  if (Error error = checkThroughputOptions(options))
    return std::move(error);
  if (options.has("profile"))
    if (Error error = checkTrace(arguments.positional[0], options.text("profile")))
      return std::move(error);
  GivenArtifact given;
  Expected<int> exitCode = given.open(arguments.positional[0], options, BenchBit);
  if (!exitCode || *exitCode)
    return exitCode;
  auto artifact = readArtifact(given.path());
  if (!artifact)
    return artifact.takeError();
  auto prepared = prepareRun(given.path(), options);
  if (!prepared)
    return prepared.takeError();
  if (options.flag("throughput"))
    return benchThroughput(*prepared, arguments.positional[0], targetOf(*artifact), options);
  LoadedModel &model = *prepared->model;
  auto arena = model.arenaBytes(prepared->inputs);
  if (!arena)
    return arena.takeError();
  auto warmUp = measure(*prepared, options.number("warm-up"), 1);
  if (!warmUp)
    return warmUp.takeError();
  auto times = measure(*prepared, options.number("min-time"), 5);
  if (!times)
    return times.takeError();
  sort(*times);
  json::Object shapes, sizes;
  for (auto [spec, value] : zip(model.inputs, prepared->inputs)) {
    shapes[spec.name] = json::Array(value.dims);
    for (size_t axis = 0; axis < spec.dims.size(); ++axis)
      if (spec.dims[axis] < 0)
        sizes[spec.dimNames[axis]] = value.dims[axis];
  }
  Figures figures(*times);
  if (options.flag("json"))
    printJson(json::Object{{"model", sys::path::filename(arguments.positional[0])},
                           {"target", targetOf(*artifact)},
                           {"variant", fathom_model_variant(model.model)},
                           {"threads", fathom_context_threads(model.context)},
                           {"dims", std::move(sizes)},
                           {"inputs", std::move(shapes)},
                           {"runs", int64_t(times->size())},
                           {"median_ms", figures.median},
                           {"p10_ms", figures.p10},
                           {"p90_ms", figures.p90},
                           {"p99_ms", figures.p99},
                           {"min_ms", times->front()},
                           {"first_ms", warmUp->front()},
                           {"arena_bytes", int64_t(*arena)},
                           {"weight_bytes", int64_t(fathom_model_weights_bytes(model.model))}},
              /*oneLine=*/true);
  else
    printFigures(figures, times->size(), warmUp->front(), *prepared, *arena);
  if (options.has("profile"))
    if (Error error = writeTrace(*prepared, options.text("profile")))
      return std::move(error);
  return 0;
}

} // namespace fathom
