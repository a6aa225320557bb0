// The crash handler. It runs in a process whose heap may be broken, so all that can be written ahead is written ahead.
#include "tools/fathom/Crash.h"

#include "compiler/driver/Manifest.h"
#include "compiler/package/OutputFile.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Signals.h"
#include "llvm/TargetParser/Host.h"
#include <csignal>
#include <fcntl.h>
#include <new>
#include <unistd.h>

using namespace llvm;

namespace fathom {

// Never destroyed: the process may still fail while it ends.
static std::string &noteHead = *new std::string, &notePath = *new std::string;

static void writeText(int fd, StringRef text) {
  while (!text.empty()) {
    ssize_t written = write(fd, text.data(), text.size());
    if (written <= 0)
      return;
    text = text.drop_front(written);
  }
}

static void writeNote(int fd) {
  writeText(fd, noteHead);
  raw_fd_ostream out(fd, /*shouldClose=*/false, /*unbuffered=*/true);
  sys::PrintStackTrace(out);
}

static void onCrash(void *) {
  // A folder for all users may hold a file or link of that name, put there by another.
  int fd = open(notePath.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  writeText(STDERR_FILENO, "error: [F7001] internal error: this is a bug of Fathom, not of your model\n");
  if (fd >= 0) {
    writeNote(fd);
    close(fd);
    writeText(STDERR_FILENO, "hint: please report it with the model and with ");
    writeText(STDERR_FILENO, notePath);
    writeText(STDERR_FILENO, ", which says how to reproduce it\n");
  } else {
    writeText(STDERR_FILENO, "hint: please report it with the model and with what follows\n");
    writeNote(STDERR_FILENO);
  }
  _exit(70);
}

// LLVM reports by this what it cannot go on from; the message belongs into the note.
static void onFatalError(void *, const char *reason, bool) {
  // A limit of the machine is nobody's bug.
  if (StringRef(reason).starts_with("pthread_create failed")) {
    writeText(STDERR_FILENO, std::string("error: [F5001] no thread can be started: ") + reason + "\n");
    sys::RunInterruptHandlers();
    _exit(5);
  }
  noteHead += std::string("reason: ") + reason + "\n";
  writeText(STDERR_FILENO, std::string("error: [F7001] ") + reason + "\n");
  onCrash(nullptr);
}

static void onOutOfMemory() {
  writeText(STDERR_FILENO, "error: [F5001] out of memory\n");
  _exit(5);
}

// LLVM counts these among the crashes, but a user or a limit sends them: files go away and the process ends by the
// signal.
static void onEnd(int number) {
  sys::RunInterruptHandlers();
  signal(number, SIG_DFL);
  raise(number);
}

void openStandardStreams() {
  // Reading stdin ends at once, stderr goes nowhere, and writing to stdout fails: what was asked for has not arrived.
  for (int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (fcntl(fd, F_GETFD) < 0)
      (void)!open("/dev/null", fd == STDERR_FILENO ? O_WRONLY : O_RDONLY);
}

static std::string quoted(StringRef word) {
  if (!word.empty() && word.find_first_of(" \t\n'\"\\$&;|<>()*?[]#~`!{}") == StringRef::npos)
    return word.str();
  std::string text = "'";
  for (char c : word)
    text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

void installCrashHandler(int argc, char **argv) {
  raw_string_ostream out(noteHead);
  char folder[4096];
  out << "fathom " << compilerVersion << ", LLVM " << LLVM_VERSION_STRING << ", host " << sys::getProcessTriple() << " "
      << sys::getHostCPUName() << "\nfolder: " << (getcwd(folder, sizeof folder) ? folder : "?") << "\nreproduce:";
  for (int i = 0; i < argc; ++i)
    out << " " << quoted(argv[i]);
  out << "\n";
  // The current folder is the user's; it is one only for who asks for it.
  SmallString<256> path;
  if (const char *asked = getenv("FATHOM_CRASH_FOLDER"); asked && *asked)
    path = asked;
  else
    sys::path::system_temp_directory(/*erasedOnReboot=*/true, path);
  sys::path::append(path, "fathom-crash-" + Twine(getpid()) + ".txt");
  notePath = std::string(path);
  sys::AddSignalHandler(onCrash, nullptr);
  signal(SIGQUIT, onEnd);
  signal(SIGXCPU, onEnd);
  // A file that grows too large is an error of the write.
  signal(SIGXFSZ, SIG_IGN);
  install_fatal_error_handler(onFatalError);
  install_bad_alloc_error_handler([](void *, const char *, bool) { onOutOfMemory(); });
  std::set_new_handler(onOutOfMemory);
  onTemporaryFile = [](StringRef path, bool exists) {
    exists ? void(sys::RemoveFileOnSignal(path)) : sys::DontRemoveFileOnSignal(path);
  };
  // A core file of a process with mapped weights is large and nobody reads it.
  sys::Process::PreventCoreFiles();
}

void removeWhenInterrupted(StringRef path) { sys::RemoveFileOnSignal(path); }

} // namespace fathom
