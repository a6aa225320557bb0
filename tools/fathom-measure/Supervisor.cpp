// Forks a worker, waits for it with a look at what it does, and forks another where a candidate ended it.
#include "tools/fathom-measure/Supervisor.h"

#include "runtime/Clock.h"
#include "tools/fathom-measure/Worker.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace fathom::measure {
namespace {

// Between two signs of life. Who has gone does not read them, which ends this process and with it the worker.
constexpr int64_t aliveNs = 1000000000;

// What the worker says at its end.
class Results {
public:
  explicit Results(int descriptor) : descriptor(descriptor) {}
  ~Results() { close(descriptor); }
  Results(const Results &) = delete;

  // Waits for so long; false: there will be no more.
  bool read(int milliseconds) {
    pollfd wait{descriptor, POLLIN, 0};
    if (poll(&wait, 1, milliseconds) <= 0)
      return true;
    char piece[4096];
    ssize_t count = ::read(descriptor, piece, sizeof piece);
    lines.append(piece, size_t(std::max<ssize_t>(count, 0)));
    return count > 0;
  }

  std::string lines;

private:
  int descriptor;
};

struct Ending {
  int status = 0;
  bool hung = false;
};

// Waits until the worker has ended; ends it when it hangs.
Ending watchWorker(pid_t worker, const Watch &watch, Results &results, double hangSeconds) {
  Ending ending;
  int64_t hangNs = int64_t(hangSeconds * 1e9), nextAlive = nowNs() + aliveNs;
  int look = int(std::clamp<int64_t>(hangNs / 4000000, 1, 250));
  while (results.read(look)) {
    int64_t now = nowNs();
    if (watch.candidate != nobody && now - watch.sinceNs > hangNs) {
      ending.hung = true;
      break;
    }
    if (now >= nextAlive) {
      fputs("alive\n", stdout);
      nextAlive = now + aliveNs;
    }
  }
  // Also where a candidate closed the pipe and runs on; who ends already, ends as it does.
  kill(worker, SIGKILL);
  waitpid(worker, &ending.status, 0);
  return ending;
}

[[noreturn]] void work(const Group &group, const std::vector<int32_t> &numbers, Watch &watch, int results,
                       pid_t supervisor) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != supervisor)
    _exit(1);
  // A candidate ends this process as it would end any other, and leaves no file behind.
  for (int number : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT})
    signal(number, SIG_DFL);
  rlimit none = {};
  setrlimit(RLIMIT_CORE, &none);
  // What is said here is for people: the input and the output are the supervisor's.
  int announcements = dup(STDOUT_FILENO);
  close(STDIN_FILENO);
  dup2(STDERR_FILENO, STDOUT_FILENO);
  measureGroup(group, numbers, watch, announcements, results);
  // Without destructors and handlers, which candidates may have changed.
  _exit(0);
}

void tell(int32_t number, const Ending &ending, double hangSeconds) {
  if (ending.hung)
    printf("kernel %d hung it ran longer than %g s\n", number, hangSeconds);
  else if (WIFSIGNALED(ending.status))
    printf("kernel %d crashed signal %d (%s)\n", number, WTERMSIG(ending.status), strsignal(WTERMSIG(ending.status)));
  else
    printf("kernel %d crashed it ended the process with %d\n", number, WEXITSTATUS(ending.status));
}

} // namespace

void supervise(const Group &group) {
  void *shared = mmap(nullptr, sizeof(Watch), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  std::vector<int32_t> numbers;
  for (size_t i = 0; i < group.candidates.size(); ++i)
    numbers.push_back(int32_t(i));
  while (!numbers.empty()) {
    int ends[2];
    if (shared == MAP_FAILED || pipe(ends)) {
      perror("fathom-measure");
      exit(1);
    }
    auto &watch = *new (shared) Watch;
    pid_t self = getpid(), worker = fork();
    if (worker < 0) {
      perror("fathom-measure: fork");
      exit(1);
    }
    if (worker == 0) {
      close(ends[0]);
      work(group, numbers, watch, ends[1], self);
    }
    close(ends[1]);
    Results results(ends[0]);
    Ending ending = watchWorker(worker, watch, results, group.hangSeconds);
    if (!ending.hung && WIFEXITED(ending.status) && WEXITSTATUS(ending.status) == 0 && !results.lines.empty()) {
      fputs(results.lines.c_str(), stdout);
      break;
    }
    int32_t culprit = watch.candidate;
    // Outside of candidates nothing of theirs runs: it was the system that ended the process, for want of memory.
    std::vector<int32_t> others;
    for (int32_t number : numbers)
      if (culprit == nobody || number == culprit)
        tell(number, ending, group.hangSeconds);
      else
        others.push_back(number);
    numbers.swap(others);
  }
  if (shared != MAP_FAILED)
    munmap(shared, sizeof(Watch));
  puts("done");
}

} // namespace fathom::measure
