// The order of tuning: kernels by what they cost, candidates by the draft, then by who knows better.
#include "compiler/tune/Tune.h"

#include "compiler/support/Failure.h"
#include "compiler/support/LargeStack.h"
#include "compiler/target/MachineFile.h"
#include "compiler/tune/DraftCandidates.h"
#include "compiler/tune/database/Locate.h"
#include "compiler/tune/judge/ResumedJudge.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"
#include <chrono>

using namespace mlir;

namespace fathom::tune {
namespace {

using Clock = std::chrono::steady_clock;

// Kernels whose share of the model's estimated time is less are left as they are.
constexpr double leastShare = 0.003;
// What the model of the code cannot tell apart, as a share.
constexpr double doubt = 0.03;
// Of carried schedules, so many whose code is analysed, and of these so many that are compared in the model: those
// that are not slower beyond what the model may err.
constexpr size_t mostAnalysed = 16, mostCompared = 3;
constexpr double mostSlower = 1.3;

class Tuner {
public:
  Tuner(const Program &program, const Request &request, const Target &target, ScheduleDatabase *database, Location loc)
      : program(program), request(request), target(target), database(database), loc(loc), start(Clock::now()),
        timer(target) {}

  FailureOr<std::vector<Tuned>> run() {
    // Whoever stops tuning alone is heeded by all that works for it.
    Cancellation::Scope scope(request.stop ? request.stop : Cancellation::current());
    std::vector<TaskUse> uses = tasksOf(program, {target, request.fp == FloatMode::Strict});
    std::vector<Tuned> results;
    std::vector<double> shares;
    double total = 0;
    for (const TaskUse &use : uses) {
      results.push_back(untuned(use));
      shares.push_back(results.back().plannedCost * double(use.kernels.size()));
      total += shares.back();
    }
    if (request.mode == Mode::Measure) {
      if (llvm::Error problem = findSearch(request.search)->problem()) {
        llvm::handleAllErrors(std::move(problem), [&](const Failure &failure) {
          (void)LogicalResult(hint(emitError(loc, failure.code) << failure.message, failure.hint));
        });
        return failure();
      }
      bool isAArch64 = llvm::Triple(llvm::sys::getProcessTriple()).isAArch64();
      if (request.machine.machine.isHere() && isAArch64 != target.isAArch64())
        return LogicalResult(hint(emitError(loc, ErrorCode::BadTarget)
                                      << "kernels for " << target.spelling()
                                      << " cannot be measured on this machine, which has another architecture",
                                  "give --measure-on ssh://HOST, or --tune static, which needs no machine"));
      FailureOr<std::unique_ptr<Measurer>> started = Measurer::start(loc, request.machine);
      if (failed(started))
        return failure();
      measurer = std::move(*started);
      readKnown();
    }
    std::vector<size_t> order = byCost(uses.size(), [&](size_t i) { return -shares[i]; });
    llvm::erase_if(order, [&](size_t i) { return shares[i] < leastShare * total; });
    // In turns, so that each part has some that cost much.
    std::vector<size_t> mine;
    for (size_t place = request.part; place < order.size(); place += request.parts)
      mine.push_back(order[place]);
    order.swap(mine);
    if (request.mode == Mode::Transfer && failed(chooseSource(results, shares, total)))
      return failure();
    draftAll(uses, order);
    for (auto [done, i] : llvm::enumerate(order)) {
      if (isOver())
        break;
      tell(done * request.trials, order.size() * request.trials);
      tuneKernel(*uses[i].task, drafted[i], results[i]);
    }
    if (isCancelled() && !request.stop)
      return failure();
    if (measurer && !measurer->problem().empty())
      emitWarning(loc) << measurer->problem();
    return results;
  }

private:
  bool isOver() const {
    std::chrono::duration<double> passed = Clock::now() - start;
    return isCancelled() || (request.seconds > 0 && passed.count() > request.seconds);
  }

  void tell(size_t done, size_t total) {
    judged = done, toJudge = total;
    if (request.progress)
      request.progress(judged, toJudge);
  }

  void readKnown() {
    if (!database || request.again)
      return;
    Lookup lookup{"",
                  "",
                  target.spelling(),
                  generatorVersion.str(),
                  request.fp,
                  hashOf(printMachineFile(target)),
                  request.runThreads};
    if (auto read = KnownTimes::read(*database, lookup))
      known = std::move(*read);
    else
      warn(loc, read.takeError());
  }

  // What is asked first for each of these kernels, all of them at a time: the other searches work on one kernel.
  void draftAll(ArrayRef<TaskUse> uses, ArrayRef<size_t> which) {
    drafted.resize(uses.size());
    if (request.mode == Mode::Transfer)
      return;
    size_t count = request.mode == Mode::Measure ? std::max<size_t>(1, request.trials / 2) : request.trials;
    onLargeStacks(request.compilerThreads, which.size(), [&](size_t i) {
      if (!isOver())
        drafted[which[i]] = draftCandidates(*uses[which[i]].task, count, request.seed);
    });
  }

  void tuneKernel(const KernelTask &task, ArrayRef<Schedule> first, Tuned &result) {
    if (request.mode == Mode::Transfer)
      carryKernel(task, result);
    else if (request.mode == Mode::Measure)
      measureKernel(task, first, result);
    else
      analyseKernel(task, first, result);
  }

  LogicalResult chooseSource(ArrayRef<Tuned> results, ArrayRef<double> costs, double total) {
    if (!database)
      return hint(emitError(loc, ErrorCode::BadDatabase) << "there is no database to take schedules from",
                  "name one with --db; 'fathom tune MODEL' fills it");
    auto read = Pool::read(*database, generatorVersion, request.fp);
    if (!read) {
      warn(loc, read.takeError());
      return success();
    }
    ClassShares shares;
    for (auto [result, cost] : llvm::zip_equal(results, costs))
      shares[opClassOf(result.key)] += total > 0 ? cost / total : 0;
    TransferSources sources{scoreSources(*read, shares, request.model)};
    sources.isWholePool = request.source == "all";
    if (!sources.isWholePool)
      sources.chosen = !request.source.empty()   ? request.source
                       : !sources.scores.empty() ? sources.scores.front().model
                                                 : "";
    std::vector<std::string> models = read->models();
    if (!request.source.empty() && !sources.isWholePool && !llvm::is_contained(models, request.source))
      return hint(emitError(loc, ErrorCode::BadDatabase) << "the database '" << database->name()
                                                         << "' has no schedules of a model '" << request.source << "'",
                  models.empty() ? "it has none of any model" : "it has those of " + llvm::join(models, ", "));
    if (request.sourceChosen)
      request.sourceChosen(sources);
    if (!sources.isWholePool && sources.chosen.empty())
      warn(loc, fail(ErrorCode::BadDatabase, "the database '" + database->name() + "' has no other model's schedules"));
    else
      pool = std::move(*read), carrier.emplace(program.module->getContext()), source = sources.chosen;
    return success();
  }

  // Schedules of other kernels, of which the draft and then the model of the code leave a few.
  void carryKernel(const KernelTask &task, Tuned &result) {
    if (!pool)
      return;
    std::vector<Carried> carried = carrier->candidates(task, *pool, source);
    if (carried.empty())
      return;
    std::vector<size_t> byDraft =
        byCost(carried.size(), [&](size_t i) { return task.space().score(carried[i].schedule); });
    byDraft.resize(std::min(byDraft.size(), mostAnalysed));
    std::vector<Schedule> schedules{task.planned()};
    for (size_t i : byDraft)
      schedules.push_back(carried[i].schedule);
    std::unique_ptr<Judge> judge = preciseJudge(task, timer, request.coefficients.value_or(coefficientsFor(target)),
                                                request.runThreads, request.compilerThreads);
    std::vector<double> costs = judge->costs(schedules);
    result.trials = schedules.size() - 1;
    result.failed = llvm::count(costs, noCost);
    result.plannedCost = result.bestCost = costs.front();
    for (size_t place : byCost(costs.size(), [&](size_t i) { return costs[i]; }))
      if (place && costs[place] < costs.front() * mostSlower && result.candidates.size() < mostCompared) {
        if (result.candidates.empty() && costs[place] < costs.front() * (1 - doubt))
          result.best = schedules[place], result.bestCost = costs[place],
          result.from = carried[byDraft[place - 1]].from;
        result.candidates.push_back(carried[byDraft[place - 1]]);
      }
  }

  // Of what the draft finds cheapest, the schedule whose code is cheapest by its own model, if it is so beyond what the
  // model can tell.
  void analyseKernel(const KernelTask &task, ArrayRef<Schedule> candidates, Tuned &result) {
    std::unique_ptr<Judge> judge = preciseJudge(task, timer, request.coefficients.value_or(coefficientsFor(target)),
                                                request.runThreads, request.compilerThreads);
    std::vector<double> costs = judge->costs(candidates);
    result.trials = candidates.size();
    result.failed = llvm::count(costs, noCost);
    size_t least = byCost(costs.size(), [&](size_t i) { return costs[i]; }).front();
    result.plannedCost = result.bestCost = costs.front();
    if (costs[least] < costs.front() * (1 - doubt))
      result.best = candidates[least], result.bestCost = costs[least];
    if (!request.keepsEstimates || result.bestCost >= noCost)
      return;
    Entry entry = entryOf(task, result.best);
    entry.found = Found::Static, entry.cycles = result.bestCost;
    keep(entry);
  }

  // The first half of the trials is what the draft finds cheapest; the other half a search from the best of these.
  void measureKernel(const KernelTask &task, ArrayRef<Schedule> first, Tuned &result) {
    MeasureOptions options;
    options.threads = request.runThreads;
    options.cold = true;
    // Times of an earlier run are comparable by that of the planned schedule.
    double plannedNs = known ? known->find(task.key(), task.planned()).value_or(0) : 0;
    bool isResumed = plannedNs > 0;
    auto heard = [&](const Schedule &schedule, const Measurement &measurement, double drift) {
      if (!measurement.isOk()) {
        if (isCancelled())
          return;
        result.problem = (spell(measurement.status) + ": " + measurement.note).str();
        return void(++result.failed);
      }
      if (!plannedNs && schedule == task.planned())
        plannedNs = measurement.medianNs;
      Entry entry = entryOf(task, schedule);
      entry.found = Found::Measured, entry.cycles = task.space().score(schedule);
      entry.samples = measurement.runs, entry.nanoseconds = measurement.medianNs * drift;
      entry.spread = measurement.upperQuartileNs - measurement.lowerQuartileNs;
      keep(entry);
    };
    std::unique_ptr<Judge> measuring =
        measureJudge(task, *measurer, options, request.compilerThreads, heard, plannedNs);
    std::unique_ptr<Judge> judge = resumedJudge(task, {.known = isResumed ? &*known : nullptr,
                                                       .judge = measuring.get(),
                                                       .isOver = [&] { return isOver(); },
                                                       .onTrials =
                                                           [&](size_t count) {
                                                             result.trials += isCancelled() ? 0 : count;
                                                             tell(judged + count, toJudge);
                                                           },
                                                       .taken = &result.known});
    std::vector<Judged> tried;
    auto note = [&](ArrayRef<Schedule> schedules) {
      std::vector<double> costs = judge->costs(schedules);
      for (auto [schedule, cost] : llvm::zip_equal(schedules, costs))
        tried.push_back({schedule, cost});
    };
    note(first);
    size_t least = byCost(tried.size(), [&](size_t i) { return tried[i].cost; }).front();
    if (tried[least].cost < noCost && request.trials > first.size()) {
      SearchSpace space(task);
      Trials trials(space, *judge, request.trials - first.size());
      trials.told = request.told, trials.history = &history, trials.threads = request.compilerThreads;
      findSearch(request.search)->run(trials, tried[least].schedule, request.seed);
      llvm::append_range(tried, trials.judged);
    }
    if (plannedNs <= 0)
      return;
    result.plannedCost = result.bestCost = plannedNs;
    for (const Judged &candidate : tried)
      if (candidate.cost < result.bestCost)
        result.best = candidate.schedule, result.bestCost = candidate.cost;
  }

  // Without what it costs.
  Entry entryOf(const KernelTask &task, const Schedule &schedule) const {
    Entry entry;
    entry.kernel = task.key().str(), entry.kernelClass = task.kernelClass().name.str();
    llvm::append_range(entry.sizes, task.sizes());
    entry.target = target.spelling(), entry.machine = hashOf(printMachineFile(target)),
    entry.generator = generatorVersion.str();
    entry.fp = request.fp, entry.threads = request.runThreads, entry.schedule = schedule;
    entry.time =
        std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
    entry.provenance = provenanceOf(task.name(), request.model);
    return entry;
  }

  // At once, so that an end before time loses no more than the group of candidates at hand.
  void keep(const Entry &entry) {
    if (!database)
      return;
    if (llvm::Error error = database->insert(entry)) {
      warn(loc, std::move(error));
      database = nullptr;
    }
  }

  const Program &program;
  const Request &request;
  const Target &target;
  ScheduleDatabase *database;
  Location loc;
  Clock::time_point start;
  std::unique_ptr<Measurer> measurer;
  std::optional<KnownTimes> known;
  std::optional<Pool> pool; // for Transfer, with the model of it that is taken
  std::optional<Carrier> carrier;
  std::string source;
  std::vector<std::vector<Schedule>> drafted; // of every kernel, the planned one first
  size_t judged = 0, toJudge = 0;
  BlockTimer timer;
  History history;
};

} // namespace

FailureOr<std::vector<Tuned>> tune(const Program &program, const Request &request, const Target &target,
                                   ScheduleDatabase *database, Location loc) {
  return Tuner(program, request, target, database, loc).run();
}

} // namespace fathom::tune
