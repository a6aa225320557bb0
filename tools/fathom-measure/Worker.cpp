// Loads candidates, runs each once, then all in turns until the medians have settled.
#include "tools/fathom-measure/Worker.h"

#include "runtime/Clock.h"
#include "runtime/FloatMode.h"
#include "runtime/ThreadPool.h"
#include "tools/fathom-measure/Caches.h"
#include "tools/fathom-measure/Data.h"
#include "tools/fathom-measure/GuardedMemory.h"
#include "tools/fathom-measure/Statistics.h"
#include "tools/fathom-measure/Waiting.h"

#include <cmath>
#include <cstring>
#include <dlfcn.h>
#include <memory>
#include <unistd.h>

namespace fathom::measure {
namespace {

// A timed run of a shorter kernel repeats it, so that the clock's steps and its calls do not count.
constexpr double leastRunNs = 20000;

struct Buffer {
  size_t position; // among its kernel's
  BufferKind kind;
  GuardedMemory memory;
  std::vector<char> before; // what a kernel that changes it begins with

  void refill(const Panels &panels) {
    if (kind.use == Use::Written)
      memset(memory.data(), 0, size_t(kind.bytes));
    else if (!panels.dims.empty())
      fillPanels(memory.data(), kind.bytes, kind.type, position, panels);
    else
      fill(memory.data(), kind.bytes, kind.type, position);
    if (kind.use == Use::Both)
      before.assign(memory.data(), memory.data() + kind.bytes);
  }
};

struct Entrant {
  Entrant(int32_t number, const Candidate &candidate) : number(number), candidate(candidate) {}

  int32_t number;
  const Candidate &candidate;
  fathom_task_fn function = nullptr;
  std::vector<Buffer *> buffers;
  std::vector<int64_t> env; // pointers, then symbols
  int64_t repetitions = 1;
  std::vector<double> times; // nanoseconds
  bool isRunning = true;
  const char *failure = nullptr; // as a word
  std::string problem;
};

class Worker {
public:
  Worker(const Group &group, Watch &watch, int announcements, int results)
      : group(group), watch(watch), announcements(announcements), results(results) {}

  void run(const std::vector<int32_t> &numbers) {
    for (int32_t number : numbers)
      entrants.emplace_back(number, group.candidates[size_t(number)]);
    std::string problem = prepare();
    for (Entrant &entrant : entrants)
      if (!problem.empty())
        fail(entrant, "refused", problem);
      else
        check(entrant);
    announce(nobody);
    say(announcements, "timing\n");
    timeInTurns();
    announce(nobody);
    std::string lines;
    for (const Entrant &entrant : entrants)
      lines += describe(entrant) + "\n";
    say(results, lines);
  }

private:
  static void say(int output, const std::string &lines) {
    for (size_t at = 0; at < lines.size();) {
      ssize_t count = write(output, lines.data() + at, lines.size() - at);
      if (count < 0)
        _exit(1);
      at += size_t(count);
    }
  }

  void announce(int32_t number) const {
    watch.sinceNs = nowNs();
    watch.candidate = number;
  }

  static void fail(Entrant &entrant, const char *how, const std::string &problem) {
    entrant.isRunning = false;
    entrant.failure = how;
    entrant.problem = problem;
  }

  // What all share; says what is wrong.
  std::string prepare() {
    int64_t stride = 0;
    for (const Entrant &entrant : entrants)
      stride = std::max(stride, entrant.candidate.scratchBytes);
    stride = int64_t(alignUp(size_t(stride), 2 * Alignment));
    scratchBytes = stride * group.threads;
    if (!scratch.allocate(scratchBytes, /*hugePages=*/true))
      return "no memory for the scratch of " + std::to_string(group.threads) + " threads";
    if (fathom_status *status = pool.start(group.threads, scratch.data(), size_t(stride))) {
      std::string problem = fathom_status_message(status);
      fathom_status_free(status);
      return problem;
    }
    return "";
  }

  // Candidates whose buffers are alike share them, so that each finds in the caches what the one before left.
  Buffer *findBuffer(size_t position, const BufferKind &kind) {
    for (const std::unique_ptr<Buffer> &buffer : buffers)
      if (buffer->position == position && buffer->kind == kind)
        return buffer.get();
    auto fresh = std::make_unique<Buffer>();
    fresh->position = position, fresh->kind = kind;
    // The runtime maps weights from a file, on small pages.
    if (!fresh->memory.allocate(kind.bytes, /*hugePages=*/kind.use != Use::Constant))
      return nullptr;
    fresh->refill({});
    buffers.push_back(std::move(fresh));
    return buffers.back().get();
  }

  bool load(Entrant &entrant) {
    void *library = dlopen(entrant.candidate.object.path().c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) {
      std::string text = dlerror();
      size_t path = text.find(": ");
      fail(entrant, "refused", "cannot be loaded: " + (path == std::string::npos ? text : text.substr(path + 2)));
      return false;
    }
    entrant.function = reinterpret_cast<fathom_task_fn>(dlsym(library, entrant.candidate.symbol.c_str()));
    if (!entrant.function) {
      fail(entrant, "refused", "the object has no symbol '" + entrant.candidate.symbol + "'");
      return false;
    }
    for (size_t position = 0; position < entrant.candidate.buffers.size(); ++position) {
      const BufferKind &kind = entrant.candidate.buffers[position];
      Buffer *buffer = findBuffer(position, kind);
      if (!buffer) {
        fail(entrant, "refused", "no memory for a buffer of " + std::to_string(kind.bytes) + " bytes");
        return false;
      }
      entrant.buffers.push_back(buffer);
      entrant.env.push_back(int64_t(reinterpret_cast<intptr_t>(buffer->memory.data())));
    }
    entrant.env.insert(entrant.env.end(), entrant.candidate.symbols.begin(), entrant.candidate.symbols.end());
    return true;
  }

  // The first run, which is compared, and a second one, which tells about how long it takes.
  void check(Entrant &entrant) {
    announce(entrant.number);
    say(announcements, "checking " + std::to_string(entrant.number) + "\n");
    if (!load(entrant))
      return;
    if (group.tolerance >= 0)
      for (Buffer *buffer : entrant.buffers)
        buffer->refill(entrant.candidate.panels[buffer->position]);
    timeRun(entrant);
    if (entrant.isRunning && group.tolerance >= 0)
      compare(entrant);
    if (!entrant.isRunning)
      return;
    double estimate = timeRun(entrant);
    bool repeats = !group.cold;
    for (const Buffer *buffer : entrant.buffers)
      repeats &= buffer->kind.use != Use::Both;
    if (repeats)
      entrant.repetitions = int64_t(std::min(1000.0, leastRunNs / std::max(1.0, estimate))) + 1;
  }

  // With what the first candidate computed that did not fail.
  void compare(Entrant &entrant) {
    if (!isExpected) {
      for (const Buffer *buffer : entrant.buffers)
        if (buffer->kind.isWritten())
          expected.push_back({buffer->kind, {buffer->memory.data(), buffer->memory.data() + buffer->kind.bytes}});
      isExpected = true;
      return;
    }
    size_t output = 0;
    for (const Buffer *buffer : entrant.buffers) {
      if (!buffer->kind.isWritten())
        continue;
      if (output == expected.size() || !(expected[output].kind == buffer->kind))
        return fail(entrant, "wrong", "output " + std::to_string(output) + " is not of the first candidate's kind");
      std::string text = difference(expected[output].data.data(), buffer->memory.data(), buffer->kind.bytes,
                                    buffer->kind.type, group.tolerance);
      if (!text.empty())
        return fail(entrant, "wrong", "output " + std::to_string(output) + ": " + text);
      ++output;
    }
    if (output != expected.size())
      fail(entrant, "wrong", "it has fewer outputs than the first candidate");
  }

  void prepareCaches(const Entrant &entrant) {
    if (group.cold) {
      for (const Buffer *buffer : entrant.buffers)
        evict(buffer->memory.data(), buffer->kind.bytes);
      evict(scratch.data(), scratchBytes);
    }
    for (Buffer *buffer : entrant.buffers) {
      if (buffer->kind.use == Use::Both)
        memcpy(buffer->memory.data(), buffer->before.data(), buffer->before.size());
      if (group.cold && buffer->kind.use == Use::Read)
        touch(pool, buffer->memory.data(), buffer->kind.bytes);
    }
  }

  // Nanoseconds of one run. What something else had this CPU meanwhile does not count; with several threads it is not
  // known whom that kept waiting.
  double timeRun(Entrant &entrant) {
    prepareCaches(entrant);
    announce(entrant.number);
    StandardFloatMode mode;
    int32_t fault = 0;
    int64_t waited = group.threads == 1 ? waiting.sum() : 0;
    int64_t start = nowNs();
    for (int64_t i = 0; i < entrant.repetitions; ++i)
      fault |= pool.launch(entrant.function, entrant.env.data(), entrant.candidate.tasks).Code;
    int64_t end = nowNs();
    if (group.threads == 1)
      end = std::max(start + 1, end - (waiting.sum() - waited));
    if (fault)
      fail(entrant, "refused", "it tells a fault, number " + std::to_string(fault));
    return double(end - start) / double(entrant.repetitions);
  }

  void timeInTurns() {
    int64_t end = nowNs() + int64_t(group.seconds * 1e9);
    int64_t nextLook = 1;
    for (int64_t round = 1; round <= group.mostRuns; ++round) {
      bool isAnyRunning = false;
      for (Entrant &entrant : entrants) {
        // Each has one time at least.
        if (!entrant.isRunning || (round > 1 && nowNs() > end))
          continue;
        entrant.times.push_back(timeRun(entrant));
        isAnyRunning = true;
      }
      if (!isAnyRunning || (round == nextLook && haveSettled()))
        break;
      if (round == nextLook)
        nextLook += 1 + round / 8;
    }
  }

  // Whether all that still run have settled. One that is slower than the best beyond doubt runs no more when it has, or
  // when it is twice as slow: the others get its time.
  bool haveSettled() {
    double best = HUGE_VAL;
    for (const Entrant &entrant : entrants)
      if (!entrant.times.empty())
        best = std::min(best, medianInterval(entrant.times).high);
    bool all = true;
    for (Entrant &entrant : entrants) {
      if (!entrant.isRunning)
        continue;
      Interval interval = medianInterval(entrant.times);
      bool isSettled = interval.high - interval.low <= 2 * group.settled * summarize(entrant.times).median;
      entrant.isRunning = interval.low <= best * (isSettled ? 1 : 2);
      all &= isSettled || !entrant.isRunning;
    }
    return all;
  }

  static std::string describe(const Entrant &entrant) {
    std::string start = "kernel " + std::to_string(entrant.number) + " ";
    if (entrant.failure)
      return start + entrant.failure + " " + entrant.problem;
    Summary s = summarize(entrant.times);
    char text[192];
    snprintf(text, sizeof text, "ok %.1f %.1f %.1f %.1f %lld %lld", s.median, s.minimum, s.lowerQuartile,
             s.upperQuartile, static_cast<long long>(s.runs), static_cast<long long>(s.outliers));
    return start + text;
  }

  struct Result {
    BufferKind kind;
    std::vector<char> data;
  };

  const Group &group;
  Watch &watch;
  int announcements, results;
  std::vector<Entrant> entrants;
  std::vector<std::unique_ptr<Buffer>> buffers;
  std::vector<Result> expected;
  bool isExpected = false;
  GuardedMemory scratch;
  int64_t scratchBytes = 0;
  ThreadPool pool;
  Waiting waiting;
};

} // namespace

void measureGroup(const Group &group, const std::vector<int32_t> &numbers, Watch &watch, int announcements,
                  int results) {
  Worker(group, watch, announcements, results).run(numbers);
}

} // namespace fathom::measure
