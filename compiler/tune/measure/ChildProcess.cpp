// Spawns a program with one socket for its input and output and a file in memory for what it complains of.
#include "compiler/tune/measure/ChildProcess.h"

#include "compiler/support/Cancellation.h"
#include "llvm/ADT/StringExtras.h"
#include <chrono>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

extern char **environ;

namespace fathom::tune {
namespace {

constexpr int lookMilliseconds = 50; // between two looks whether to stop
constexpr size_t longestLine = 1 << 16;

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

} // namespace

llvm::Expected<ChildProcess> ChildProcess::start(llvm::ArrayRef<std::string> words) {
  ChildProcess child;
  int ends[2];
  child.errors = memfd_create("errors", MFD_CLOEXEC);
  // A socket: writing to one whose reader has gone is an error and no signal.
  if (child.errors < 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
    return llvm::createStringError(std::error_code(errno, std::generic_category()), "cannot start '%s': %s",
                                   words[0].c_str(), strerror(errno));
  child.talk = ends[0];
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, ends[1], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&files, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&files, child.errors, STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  // A process group of its own, so that all of it can be ended; no blocked or ignored signals.
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  std::vector<char *> pointers;
  for (const std::string &word : words)
    pointers.push_back(const_cast<char *>(word.c_str()));
  pointers.push_back(nullptr);
  int error = posix_spawnp(&child.process, pointers[0], &files, &attributes, pointers.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  close(ends[1]);
  if (!error)
    return std::move(child);
  child.process = -1;
  return llvm::createStringError(std::error_code(error, std::generic_category()), "cannot start '%s': %s",
                                 words[0].c_str(), strerror(error));
}

ChildProcess::ChildProcess(ChildProcess &&other) { *this = std::move(other); }

ChildProcess &ChildProcess::operator=(ChildProcess &&other) {
  std::swap(process, other.process);
  std::swap(talk, other.talk);
  std::swap(errors, other.errors);
  std::swap(buffered, other.buffered);
  return *this;
}

ChildProcess::~ChildProcess() {
  if (process > 0) {
    kill(-process, SIGKILL);
    wait();
  }
  for (int descriptor : {talk, errors})
    if (descriptor >= 0)
      close(descriptor);
}

Talk ChildProcess::waitFor(short events, double silentSeconds) const {
  for (double end = now() + silentSeconds; now() < end;) {
    if (isCancelled())
      return Talk::Cancelled;
    pollfd wait{talk, events, 0};
    if (poll(&wait, 1, lookMilliseconds) > 0)
      return Talk::Done;
  }
  return Talk::Silent;
}

Talk ChildProcess::write(llvm::StringRef bytes, double silentSeconds) {
  while (!bytes.empty()) {
    if (Talk talked = waitFor(POLLOUT, silentSeconds); talked != Talk::Done)
      return talked;
    ssize_t count = send(talk, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count < 0 && errno != EAGAIN && errno != EINTR)
      return Talk::Ended;
    bytes = bytes.drop_front(std::max<ssize_t>(count, 0));
  }
  return Talk::Done;
}

void ChildProcess::closeInput() { shutdown(talk, SHUT_WR); }

Talk ChildProcess::readLine(std::string &line, double silentSeconds) {
  while (true) {
    if (size_t end = buffered.find('\n'); end != std::string::npos) {
      line = buffered.substr(0, end);
      buffered.erase(0, end + 1);
      return Talk::Done;
    }
    if (Talk talked = waitFor(POLLIN, silentSeconds); talked != Talk::Done)
      return talked;
    char piece[4096];
    ssize_t count = recv(talk, piece, sizeof piece, MSG_DONTWAIT);
    if (count < 0 && (errno == EAGAIN || errno == EINTR))
      continue;
    if (count <= 0 || buffered.size() > longestLine)
      return Talk::Ended;
    buffered.append(piece, size_t(count));
  }
}

int ChildProcess::wait() {
  constexpr double patience = 2; // with one that has said all and does not end
  int status = 0;
  for (double end = now() + patience; waitpid(process, &status, WNOHANG) == 0;)
    if (poll(nullptr, 0, 5) == 0 && now() > end)
      kill(-process, SIGKILL);
  process = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::string ChildProcess::complaint() const {
  constexpr off_t most = 1024;
  struct stat status = {};
  fstat(errors, &status);
  off_t from = std::max<off_t>(0, status.st_size - most);
  std::string text(size_t(status.st_size - from), 0);
  ssize_t count = pread(errors, text.data(), text.size(), from);
  text.resize(size_t(std::max<ssize_t>(count, 0)));
  for (char &c : text)
    if (!llvm::isPrint(c))
      c = c == '\n' ? '\n' : ' ';
  return llvm::StringRef(text).trim().str();
}

} // namespace fathom::tune
