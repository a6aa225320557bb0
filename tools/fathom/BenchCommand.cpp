// fathom bench: the time of a run as percentiles, and where it goes as a Chrome trace.
#include "compiler/package/OutputFile.h"
#include "tools/fathom/ArtifactReader.h"
#include "tools/fathom/PreparedRun.h"
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

// The value below which this fraction of the sorted values lies, interpolated as NumPy does.
static double percentile(ArrayRef<double> sorted, double fraction) {
  double at = fraction * (sorted.size() - 1);
  size_t below = size_t(at), above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (at - below) * (sorted[above] - sorted[below]);
}

// One run in the format of chrome://tracing and Perfetto.
static Error writeTrace(PreparedRun &prepared, StringRef path) {
  LoadedModel &model = *prepared.model;
  fathom_context_set_profiling(model.context, 1);
  if (Error error = prepared.run())
    return error;
  fathom_context_set_profiling(model.context, 0);
  json::Array events;
  for (size_t i = 0; i < fathom_context_profile_count(model.context); ++i) {
    fathom_profile_entry entry;
    fathom_kernel_info kernel;
    if (Error error = takeStatus(fathom_context_profile(model.context, i, &entry)))
      return error;
    if (Error error = takeStatus(fathom_model_kernel(model.model, entry.kernel, &kernel)))
      return error;
    events.push_back(json::Object{{"name", kernel.name},
                                  {"cat", "kernel"},
                                  {"ph", "X"},
                                  {"ts", entry.start_ns / 1e3},
                                  {"dur", (entry.end_ns - entry.start_ns) / 1e3},
                                  {"pid", 1},
                                  {"tid", 1},
                                  {"args", json::Object{{"nodes", kernel.nodes}, {"tasks", entry.tasks}}}});
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
  json::Object shapes;
  for (auto [spec, value] : zip(model.inputs, prepared->inputs))
    shapes[spec.name] = json::Array(value.dims);
  printJson(json::Object{{"model", sys::path::filename(arguments.positional[0])},
                         {"target", targetOf(*artifact)},
                         {"threads", fathom_context_threads(model.context)},
                         {"inputs", std::move(shapes)},
                         {"runs", int64_t(times->size())},
                         {"median_ms", percentile(*times, 0.5)},
                         {"p10_ms", percentile(*times, 0.1)},
                         {"p90_ms", percentile(*times, 0.9)},
                         {"min_ms", times->front()},
                         {"first_ms", warmUp->front()},
                         {"arena_bytes", int64_t(*arena)},
                         {"weight_bytes", int64_t(fathom_model_weights_bytes(model.model))}},
            options.flag("json"));
  if (options.has("profile"))
    if (Error error = writeTrace(*prepared, options.text("profile")))
      return std::move(error);
  return 0;
}

} // namespace fathom
