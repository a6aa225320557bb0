// Tries settings of streams and threads for a moment each, then measures the best of them.
#include "tools/fathom/run/ThroughputBench.h"

#include "runtime/CpuCount.h"
#include "tools/fathom/run/Percentile.h"
#include "tools/fathom/run/StreamSettings.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include <chrono>
#include <latch>
#include <thread>

using namespace llvm;

namespace fathom {

namespace {

using Clock = std::chrono::steady_clock;

// One of the runs that go on at the same time, with a context of its own.
struct Stream {
  ~Stream() { fathom_context_free(context); }
  fathom_context *context = nullptr;
  std::vector<Array> outputs;
  std::vector<double> times; // ms of each run
  double seconds = 0;
  fathom_status *failure = nullptr;
};

struct Throughput {
  StreamSetting setting = {1, 1};
  double runsPerSecond = 0;
  double seconds = 0;
  std::vector<double> times; // of all streams, sorted
};

} // namespace

static double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

Error checkThroughputOptions(const OptionValues &options) {
  if (options.flag("throughput")) {
    if (options.has("profile"))
      return fail(usageError, "--profile traces one run, and --throughput measures several at a time",
                  "leave out one of them");
    if (int64_t streams = options.integer("streams"); streams > MaxThreads)
      return fail(usageError, "--streams is " + Twine(streams) + ": expected 0 to " + Twine(MaxThreads));
    return Error::success();
  }
  if (options.has("streams"))
    return fail(usageError, "--streams is for --throughput", "give that too");
  return Error::success();
}

static Expected<std::vector<std::unique_ptr<Stream>>> makeStreams(PreparedRun &prepared, StreamSetting setting,
                                                                  int device) {
  std::vector<std::unique_ptr<Stream>> streams;
  fathom_context_options options = FATHOM_CONTEXT_OPTIONS_INIT;
  options.threads = setting.threads, options.device = device;
  for (int i = 0; i < setting.streams; ++i) {
    Stream &stream = *streams.emplace_back(std::make_unique<Stream>());
    if (Error error = takeStatus(fathom_context_create(prepared.model->model, &options, &stream.context)))
      return std::move(error);
    auto outputs = prepared.model->allocateOutputs(prepared.inputs);
    if (!outputs)
      return outputs.takeError();
    stream.outputs = std::move(*outputs);
  }
  return std::move(streams);
}

// Runs as long as it may, once at least, after one run that is not timed.
static void runStream(PreparedRun &prepared, Stream &stream, std::latch &ready, double seconds) {
  stream.failure = prepared.model->start(stream.context, prepared.inputs, stream.outputs);
  ready.arrive_and_wait();
  for (auto start = Clock::now(); !stream.failure && (stream.times.empty() || stream.seconds < seconds);) {
    auto begin = Clock::now();
    stream.failure = prepared.model->start(stream.context, prepared.inputs, stream.outputs);
    stream.times.push_back(secondsSince(begin) * 1e3);
    stream.seconds = secondsSince(start);
  }
}

static Expected<Throughput> measure(PreparedRun &prepared, StreamSetting setting, int device, double seconds) {
  auto streams = makeStreams(prepared, setting, device);
  if (!streams)
    return streams.takeError();
  std::latch ready(setting.streams);
  std::vector<std::thread> threads;
  for (auto &stream : *streams)
    threads.emplace_back([&, &stream = *stream] { runStream(prepared, stream, ready, seconds); });
  for (std::thread &thread : threads)
    thread.join();
  Throughput result;
  result.setting = setting;
  Error failure = Error::success();
  for (auto &stream : *streams) {
    if (stream->failure) {
      // One is enough to tell.
      if (failure)
        fathom_status_free(stream->failure);
      else
        failure = takeStatus(stream->failure);
      continue;
    }
    result.runsPerSecond += double(stream->times.size()) / stream->seconds;
    result.seconds = std::max(result.seconds, stream->seconds);
    append_range(result.times, stream->times);
  }
  if (failure)
    return std::move(failure);
  sort(result.times);
  return std::move(result);
}

// In two rounds, so that a busy moment of the machine does not decide. The best first of equals.
static Expected<std::vector<Throughput>> tryAll(PreparedRun &prepared, ArrayRef<StreamSetting> settings, int device,
                                                double seconds) {
  std::vector<Throughput> best(settings.size());
  for (int round = 0; round < 2; ++round)
    for (size_t i = 0; i < settings.size(); ++i) {
      showProgress("bench", round * settings.size() + i + 1, 2 * settings.size());
      auto measured = measure(prepared, settings[i], device, seconds);
      if (!measured)
        return measured.takeError();
      if (measured->runsPerSecond > best[i].runsPerSecond)
        best[i] = std::move(*measured);
    }
  clearProgress();
  return std::move(best);
}

static std::string spell(StreamSetting setting) {
  return formatv("{0} at a time with {1} thread{2} each", setting.streams, setting.threads,
                 setting.threads == 1 ? "" : "s");
}

static void printForPeople(const Throughput &best, ArrayRef<Throughput> tried) {
  outs() << formatv("{0:f1} runs/s, {1}\n", best.runsPerSecond, spell(best.setting));
  outs() << formatv("latency {0:f2} ms median, {1:f2} ms p90, {2:f2} ms p99, {3:f2} ms most ({4} runs in {5:f1} s)\n",
                    percentile(best.times, 0.5), percentile(best.times, 0.9), percentile(best.times, 0.99),
                    best.times.back(), best.times.size(), best.seconds);
  for (const Throughput &other : tried)
    outs() << formatv("  tried {0,-36} {1,10:f1} runs/s {2,10:f2} ms median\n", spell(other.setting),
                      other.runsPerSecond, percentile(other.times, 0.5));
}

static json::Object describe(const Throughput &found) {
  return json::Object{{"streams", found.setting.streams},
                      {"threads", found.setting.threads},
                      {"runs_per_second", found.runsPerSecond},
                      {"median_ms", percentile(found.times, 0.5)}};
}

Expected<int> benchThroughput(PreparedRun &prepared, StringRef name, StringRef target, const OptionValues &options) {
  int device = options.has("device") ? int(options.integer("device")) : -1;
  int cpus;
  if (Error error = takeStatus(chooseThreads(0, cpus)))
    return std::move(error);
  auto settings = streamSettings(cpus, int(options.integer("streams")), int(options.integer("threads")));
  double seconds = options.number("min-time");
  std::vector<Throughput> tried;
  StreamSetting chosen = settings.front();
  if (settings.size() > 1) {
    auto found = tryAll(prepared, settings, device, std::min(seconds, options.number("warm-up")));
    if (!found)
      return found.takeError();
    tried = std::move(*found);
    chosen = max_element(tried, [](const Throughput &a, const Throughput &b) {
               return a.runsPerSecond < b.runsPerSecond;
             })->setting;
  }
  auto best = measure(prepared, chosen, device, seconds);
  if (!best)
    return best.takeError();
  if (!options.flag("json"))
    return printForPeople(*best, tried), 0;
  json::Object result = describe(*best);
  result["schema"] = 1;
  result["model"] = sys::path::filename(name);
  result["target"] = target;
  result["runs"] = int64_t(best->times.size());
  result["seconds"] = best->seconds;
  result["p90_ms"] = percentile(best->times, 0.9);
  result["p99_ms"] = percentile(best->times, 0.99);
  result["max_ms"] = best->times.back();
  json::Array others;
  for (const Throughput &other : tried)
    others.push_back(describe(other));
  result["tried"] = std::move(others);
  printJson(std::move(result), /*oneLine=*/true);
  return 0;
}

} // namespace fathom
