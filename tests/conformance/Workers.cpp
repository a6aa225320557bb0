// Worker processes that take case numbers from, and leave results in, memory shared with the parent.
#include "Workers.h"

#include "llvm/Support/FormatVariadic.h"
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace fathom::conformance {
namespace {

// Ends what hangs; with sanitizers, on a machine that does other things too, some take more than a minute.
constexpr unsigned secondsPerCase = 300;

struct Slot {
  std::atomic<pid_t> runner; // who runs the case now
  double compileMs;
  bool oneNode;
  char problem[400], disagreement[400];
};

struct Shared {
  std::atomic<size_t> next;
  Slot slots[];
};

template <size_t size> void set(char (&text)[size], const std::string &words) {
  snprintf(text, size, "%s", words.c_str());
}

[[noreturn]] void work(Shared &shared, const std::vector<Case> &cases) {
  for (size_t i; (i = shared.next++) < cases.size();) {
    Slot &slot = shared.slots[i];
    slot.runner = getpid();
    alarm(secondsPerCase);
    CaseResult result = runCase(cases[i]);
    alarm(0);
    slot.compileMs = result.compileMs, slot.oneNode = result.oneNode;
    set(slot.problem, result.problem);
    set(slot.disagreement, result.disagreement);
    slot.runner = 0;
  }
  fflush(nullptr);
  _exit(0);
}

pid_t spawn(Shared &shared, const std::vector<Case> &cases) {
  fflush(nullptr);
  pid_t child = fork();
  if (child < 0)
    perror("fork"), exit(1);
  if (child == 0)
    work(shared, cases);
  return child;
}

} // namespace

std::vector<CaseResult> runInWorkers(const std::vector<Case> &cases, int jobs) {
  size_t bytes = sizeof(Shared) + cases.size() * sizeof(Slot);
  void *memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    perror("shared memory"), exit(1);
  Shared &shared = *new (memory) Shared;
  for (int i = 0; i < jobs; ++i)
    spawn(shared, cases);
  for (int running = jobs; running > 0;) {
    int status = 0;
    pid_t child = wait(&status);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
      --running;
      continue;
    }
    for (size_t i = 0; i < cases.size(); ++i) {
      Slot &slot = shared.slots[i];
      if (slot.runner != child)
        continue;
      int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
      set(slot.problem, signal == SIGALRM ? llvm::formatv("took more than {0} s", secondsPerCase).str()
                        : signal          ? llvm::formatv("crashed: {0}", strsignal(signal)).str()
                                          : llvm::formatv("exited with {0}", WEXITSTATUS(status)).str());
      slot.runner = 0;
    }
    spawn(shared, cases);
  }
  std::vector<CaseResult> results;
  for (size_t i = 0; i < cases.size(); ++i) {
    const Slot &slot = shared.slots[i];
    results.push_back({slot.problem, slot.compileMs, slot.oneNode, slot.disagreement});
  }
  munmap(memory, bytes);
  return results;
}

} // namespace fathom::conformance
