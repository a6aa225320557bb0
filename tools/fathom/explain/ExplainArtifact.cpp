// Profiles of a few runs, beside the manifest.
#include "tools/fathom/explain/ExplainArtifact.h"

#include "tools/fathom/run/ArtifactReader.h"
#include "tools/fathom/run/PreparedRun.h"

using namespace llvm;

namespace fathom {

// The least time of each kernel over a few runs: what else the machine does only adds to it.
static Expected<Run> profile(StringRef path, const OptionValues &options) {
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
    std::vector<fathom_profile_entry> launches;
    for (size_t i = 0; i < fathom_context_profile_count(model.context); ++i) {
      fathom_profile_entry entry;
      if (Error error = takeStatus(fathom_context_profile(model.context, i, &entry)))
        return std::move(error);
      now[entry.kernel].seconds += double(entry.end_ns - entry.start_ns) * 1e-9;
      ++now[entry.kernel].launches;
      launches.push_back(entry);
    }
    if (result.fastest.empty() || (!launches.empty() && launches.back().end_ns < result.fastest.back().end_ns))
      result.fastest = std::move(launches);
    // The first run is cold.
    for (auto [best, one] : zip(result.kernels, now))
      if (run < 2 || one.seconds < best.seconds)
        best = one;
  }
  result.threads = fathom_context_threads(model.context);
  return std::move(result);
}

// The share of what the machine could do at most: of its arithmetic, or of what it reads from memory, or from the cache
// where that holds all the kernel's data. Nothing where a kernel is over before it has begun.
static std::optional<double> shareOfRoofline(double flop, double bytes, double seconds, const MachinePeak &peak) {
  constexpr double shortest = 5e-6;
  if (seconds < shortest || peak.flopPerSecond <= 0 || peak.bytesPerSecond <= 0)
    return std::nullopt;
  double rate = bytes < double(lastLevelCacheBytes()) ? std::max(peak.cachedBytesPerSecond, peak.bytesPerSecond)
                                                      : peak.bytesPerSecond;
  return std::max(flop / peak.flopPerSecond, bytes / rate) / seconds;
}

// Adds what is known of a kernel to its description.
static void measureKernel(json::Object &kernel, size_t index, const Sizes &sizes, const Run *run) {
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

Expected<Explained> explainArtifact(StringRef path, const OptionValues &options) {
  std::string variant = options.text("variant");
  auto artifact = readArtifact(path, variant);
  if (!artifact)
    return artifact.takeError();
  auto sizes = parseDims(options);
  if (!sizes)
    return sizes.takeError();
  Explained told{std::move(artifact->manifest), {}, {}};
  if (options.flag("run")) {
    auto here = readArtifact(path);
    if (!here)
      return here.takeError();
    if (!variant.empty() && cpuOf(here->manifest) != variant)
      return fail(usageError, "--run does not go with --variant " + variant,
                  "this machine runs the code for " + cpuOf(here->manifest));
    auto profiled = profile(path, options);
    if (!profiled)
      return profiled.takeError();
    told.run = std::move(*profiled);
    // A device's roof is not this machine's.
    const json::Object *target = told.manifest.getObject("target");
    if (!target || target->getString("host").value_or("").empty())
      told.run->peak = measurePeak(told.run->threads);
    sizes = told.run->sizes;
  }
  if (json::Array *kernels = told.manifest.getArray("kernels"))
    told.kernels = *kernels;
  for (auto [i, kernel] : enumerate(told.kernels))
    if (json::Object *object = kernel.getAsObject())
      measureKernel(*object, i, *sizes, told.run ? &*told.run : nullptr);
  return std::move(told);
}

} // namespace fathom
