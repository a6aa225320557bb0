// Runs searches over the kernels of Problems.h with one judge, and prints a line of JSON for each run. searches.py
// makes a table of them.
#include "bench/tune/Problems.h"
#include "compiler/tune/judge/Judges.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/JSON.h"
#include <chrono>

using namespace llvm;

namespace fathom::tune {
namespace {

cl::opt<std::string> judgeName("judge", cl::desc("draft, static (the model of the code) or measure"),
                               cl::init("static"));
cl::opt<std::string> machine("machine", cl::desc("a target"), cl::init("host"));
cl::opt<size_t> trialCount("trials", cl::init(64));
cl::opt<uint64_t> seedCount("seeds", cl::init(3));
cl::opt<unsigned> threads("judge-threads", cl::desc("that judge; 0: all CPUs"), cl::init(0));
cl::list<std::string> searches("search", cl::CommaSeparated), kernels("kernel", cl::CommaSeparated);
cl::opt<bool> visits("visits", cl::desc("print what searches look at by themselves, to stderr"));

double secondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// One kernel, judged one way by all searches, so that blocks of code are known and measurements comparable.
class Bench {
public:
  explicit Bench(const Problem &problem) : problem(problem), kernel(problem, machine), timer(kernel.task->target()) {
    if (judgeName == "draft")
      judge = draftJudge(*kernel.task);
    else if (judgeName == "static")
      judge = preciseJudge(*kernel.task, timer, coefficientsFor(kernel.task->target()), 1, threads);
    else if (judgeName == "measure")
      startMeasuring();
    else
      report_fatal_error("no such judge", false);
  }

  void run(const Search &search, uint64_t seed) {
    SearchSpace space(*kernel.task);
    Random random(seed);
    // A start by chance: what the compiler would choose is for searches to find.
    Schedule start = space.scheduleAt(*space.any(random));
    Trials trials(space, *judge, trialCount);
    if (visits)
      trials.told = [](StringRef line) { errs() << line << "\n"; };
    auto begin = std::chrono::steady_clock::now();
    search.run(trials, start, seed);
    json::Array costs;
    for (const Judged &judged : trials.judged)
      costs.push_back(judged.cost == noCost ? json::Value(nullptr) : json::Value(judged.cost));
    Judged best = trials.best(1).front();
    outs() << json::Value(json::Object{{"kernel", problem.name},
                                       {"class", kernel.task->kernelClass().name},
                                       {"search", search.name()},
                                       {"seed", int64_t(seed)},
                                       {"best", best.cost},
                                       {"schedule", textOf(best.schedule)},
                                       {"draft", kernel.task->space().score(kernel.task->space().best())},
                                       {"seconds", secondsSince(begin)},
                                       {"costs", std::move(costs)}})
           << "\n";
    outs().flush();
  }

private:
  void startMeasuring() {
    auto started = Measurer::start(mlir::UnknownLoc::get(kernel.task->site()->getContext()), {});
    if (failed(started))
      report_fatal_error("nothing can be measured", false);
    measurer = std::move(*started);
    MeasureOptions options;
    options.cold = true;
    judge = measureJudge(*kernel.task, *measurer, options, threads);
  }

  const Problem &problem;
  ProblemKernel kernel;
  BlockTimer timer;
  std::unique_ptr<Measurer> measurer;
  std::unique_ptr<Judge> judge;
};

bool isWanted(const cl::list<std::string> &names, StringRef name) { return names.empty() || is_contained(names, name); }

} // namespace
} // namespace fathom::tune

int main(int argc, char **argv) {
  using namespace fathom::tune;
  InitLLVM init(argc, argv);
  cl::ParseCommandLineOptions(argc, argv, "searches over the schedules of a few kernels\n");
  for (const Problem &problem : problems) {
    if (!isWanted(kernels, problem.name))
      continue;
    Bench bench(problem);
    for (const Search *search : allSearches())
      if (isWanted(searches, search->name()))
        for (uint64_t seed = 1; seed <= seedCount; ++seed)
          bench.run(*search, seed);
  }
}
