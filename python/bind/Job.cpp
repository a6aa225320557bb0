// Calls that their caller can leave.
#include "compiler/support/Cancellation.h"
#include "python/bind/Compile.h"
#include "llvm/Support/thread.h"

#include <condition_variable>
#include <fcntl.h>
#include <mutex>
#include <unistd.h>

namespace fathom::python {

// Never destroyed: a thread may still end while the process does.
static std::mutex &mutex = *new std::mutex;
static std::condition_variable &changed = *new std::condition_variable;
static int running = 0;

struct Job::State {
  Cancellation cancellation;
  bool isDone = false;
  CompileOutcome outcome;
};

// As the main thread of a process has; one that Python started may have little.
static constexpr unsigned stackBytes = 8 << 20;

Job::Job(std::function<CompileOutcome()> work) : state(std::make_shared<State>()) {
  {
    std::lock_guard<std::mutex> lock(mutex);
    ++running;
  }
  llvm::thread thread(std::optional<unsigned>(stackBytes), [work = std::move(work), state = state]() mutable {
    CompileOutcome outcome;
    {
      Cancellation::Scope scope(&state->cancellation);
      outcome = work();
    }
    // What it holds goes before anybody learns that it is done.
    work = nullptr;
    std::lock_guard<std::mutex> lock(mutex);
    state->outcome = std::move(outcome);
    state->isDone = true;
    --running;
    changed.notify_all();
  });
  thread.detach();
}

bool Job::wait(std::chrono::milliseconds time) const {
  std::unique_lock<std::mutex> lock(mutex);
  return changed.wait_for(lock, time, [&] { return state->isDone; });
}

void Job::cancel(std::chrono::milliseconds time) {
  // Too late to stop it: it is done in a moment.
  if (!state->cancellation.cancel())
    while (!wait(std::chrono::milliseconds(1000)))
      ;
  wait(time);
}

CompileOutcome Job::take() { return std::move(state->outcome); }

bool Job::waitForAll(std::chrono::milliseconds time) {
  std::unique_lock<std::mutex> lock(mutex);
  return changed.wait_for(lock, time, [] { return running == 0; });
}

OwnOutput::OwnOutput(const std::string &path) : name(path) {
  const std::string folder = "/proc/self/fd/";
  if (path.compare(0, folder.size(), folder) != 0)
    return;
  fd = fcntl(atoi(path.c_str() + folder.size()), F_DUPFD_CLOEXEC, 3);
  if (fd >= 0)
    name = folder + std::to_string(fd);
}

OwnOutput::~OwnOutput() {
  if (fd >= 0)
    close(fd);
}

} // namespace fathom::python
