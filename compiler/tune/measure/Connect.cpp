// Finds the program for the machine's architecture and starts it; on other machines with two calls of ssh, of which the
// first copies it.
#include "compiler/tune/measure/Connect.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"
#include <dlfcn.h>
#include <elf.h>

using namespace llvm;

namespace fathom::tune {
namespace {

constexpr StringRef greeting = "fathom-measure 1";
constexpr double startSeconds = 30;
constexpr int strangeLines = 100; // that a login's own scripts may print before what is waited for

// Beside the program, or where an installation or the package of Python has its programs.
std::vector<std::string> programFolders(const MeasurerOptions &options) {
  if (!options.programFolder.empty())
    return {options.programFolder};
  std::vector<std::string> folders;
  auto add = [&](StringRef file, std::initializer_list<StringRef> steps) {
    SmallString<256> folder(sys::path::parent_path(file));
    for (StringRef step : steps)
      sys::path::append(folder, step);
    folders.push_back(folder.str().str());
  };
  std::string program = sys::fs::getMainExecutable(nullptr, reinterpret_cast<void *>(&connect));
  add(program, {});
  add(program, {"..", "libexec", "fathom"});
  Dl_info library;
  if (dladdr(reinterpret_cast<void *>(&connect), &library) && library.dli_fname) {
    add(library.dli_fname, {"bin"});
    add(library.dli_fname, {"..", "bin"});
    add(library.dli_fname, {"..", "libexec", "fathom"});
    add(library.dli_fname, {"..", "..", "bin"});
  }
  return folders;
}

// The architecture that an ELF file is for, as `uname -m` says it.
StringRef architectureOf(StringRef file) {
  if (file.size() < sizeof(Elf64_Ehdr) || !file.starts_with(ELFMAG))
    return "";
  switch (reinterpret_cast<const Elf64_Ehdr *>(file.data())->e_machine) {
  case EM_X86_64:
    return "x86_64";
  case EM_AARCH64:
    return "aarch64";
  default:
    return "";
  }
}

struct Program {
  std::string path;
  std::unique_ptr<MemoryBuffer> bytes;
};

std::optional<Program> findProgram(const MeasurerOptions &options, StringRef architecture, ConnectProblem &problem) {
  std::vector<std::string> folders = programFolders(options);
  for (StringRef folder : folders)
    for (const std::string &name : {std::string("fathom-measure"), ("fathom-measure-" + architecture).str()}) {
      std::string path = (folder + "/" + name).str();
      auto file = MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
      if (file && architectureOf((*file)->getBuffer()) == architecture)
        return Program{path, std::move(*file)};
    }
  problem = {("there is no fathom-measure for " + architecture + " in " + join(folders, ", ")).str(),
             "`./dev foreign` builds it for the architecture that this machine is not"};
  return std::nullopt;
}

std::string architectureHere() { return Triple(sys::getProcessTriple()).getArchName().str(); }

// What a program that should have talked says instead.
std::string reason(ChildProcess &child, Talk talked) {
  if (talked == Talk::Cancelled)
    return "cancelled";
  if (talked == Talk::Silent)
    return "it does not answer";
  int code = child.wait();
  std::string complaint = child.complaint();
  if (complaint.empty())
    return "it ended with exit code " + std::to_string(code);
  std::replace(complaint.begin(), complaint.end(), '\n', ';');
  return complaint;
}

// Skips lines up to one that begins so, and gives what follows.
Talk readUntil(ChildProcess &child, StringRef start, std::string &rest) {
  for (int i = 0; i < strangeLines; ++i) {
    std::string line;
    if (Talk talked = child.readLine(line, startSeconds); talked != Talk::Done)
      return talked;
    if (StringRef(line).starts_with(start)) {
      rest = StringRef(line).drop_front(start.size()).rtrim().str();
      return Talk::Done;
    }
  }
  return Talk::Ended;
}

std::optional<ChildProcess> startProgram(ArrayRef<std::string> words, ConnectProblem &problem, StringRef what) {
  auto child = ChildProcess::start(words);
  if (!child) {
    problem.message = (what + ": " + toString(child.takeError())).str();
    return std::nullopt;
  }
  return std::move(*child);
}

// A program on a machine, by ssh, which asks for nothing.
std::vector<std::string> remoteWords(const MeasurerOptions &options, StringRef script, StringRef argument) {
  const MachineAddress &machine = options.machine;
  const char *environment = getenv("FATHOM_SSH");
  std::vector<std::string> words{!options.ssh.empty()          ? options.ssh
                                 : environment && *environment ? environment
                                                               : "ssh",
                                 "-T",
                                 "-o",
                                 "BatchMode=yes",
                                 "-o",
                                 "ConnectTimeout=10",
                                 "-o",
                                 "ServerAliveInterval=10",
                                 "-o",
                                 "ServerAliveCountMax=3"};
  if (machine.port)
    words.insert(words.end(), {"-p", std::to_string(machine.port)});
  if (!machine.user.empty())
    words.insert(words.end(), {"-l", machine.user});
  // Whatever the user's shell is there: the address has plain characters only, and the script no single quotes.
  words.insert(words.end(), {"--", machine.host, ("exec sh -c '" + script + "' sh '" + argument + "'").str()});
  return words;
}

// In one line each, as csh wants it.
constexpr StringRef copyScript = "echo \"machine $(uname -m)\"; umask 077; mkdir -p \"$1\" && "
                                 "d=$(mktemp -d \"$1/fathom-measure.XXXXXX\") && cat >\"$d/fathom-measure\" && "
                                 "chmod 700 \"$d/fathom-measure\" && echo \"folder $d\"";
constexpr StringRef runScript = "\"$1/fathom-measure\"; code=$?; rm -rf \"$1\"; exit $code";

// Copies the program; gives the folder that it is in.
std::optional<std::string> copyProgram(const MeasurerOptions &options, ConnectProblem &problem) {
  std::string what = "cannot reach '" + options.machine.spelling + "'";
  problem.hint = "`ssh " + options.machine.host +
                 " true` must work without asking for anything: see ssh_config(5) for keys and names of hosts";
  std::optional<ChildProcess> child =
      startProgram(remoteWords(options, copyScript, options.machine.folder), problem, what);
  if (!child)
    return std::nullopt;
  std::string architecture, folder;
  if (Talk talked = readUntil(*child, "machine ", architecture); talked != Talk::Done) {
    problem.message = what + ": " + reason(*child, talked);
    return std::nullopt;
  }
  std::optional<Program> program = findProgram(options, architecture, problem);
  if (!program)
    return std::nullopt;
  Talk talked = child->write(program->bytes->getBuffer(), startSeconds);
  child->closeInput();
  if (talked == Talk::Done)
    talked = readUntil(*child, "folder ", folder);
  // It is a word of a shell's in what follows.
  bool isPlain = all_of(folder, [](char c) { return isAlnum(c) || StringRef("/._-+=@").contains(c); });
  if (talked == Talk::Done && isPlain)
    return folder;
  problem = {"cannot copy fathom-measure to '" + options.machine.spelling + "': " + reason(*child, talked),
             "a folder with room can be named: ssh://HOST/FOLDER"};
  return std::nullopt;
}

} // namespace

std::optional<ChildProcess> connect(const MeasurerOptions &options, ConnectProblem &problem) {
  std::vector<std::string> words;
  if (options.machine.isHere()) {
    std::optional<Program> program = findProgram(options, architectureHere(), problem);
    if (!program)
      return std::nullopt;
    words = {program->path};
  } else {
    std::optional<std::string> folder = copyProgram(options, problem);
    if (!folder)
      return std::nullopt;
    words = remoteWords(options, runScript, *folder);
  }
  std::string what = "fathom-measure does not run on '" + options.machine.spelling + "'", nothing;
  std::optional<ChildProcess> child = startProgram(words, problem, what);
  if (!child)
    return std::nullopt;
  Talk talked = readUntil(*child, greeting, nothing);
  if (talked == Talk::Done)
    return child;
  problem = {what + ": " + reason(*child, talked),
             options.machine.isHere() ? "" : "a folder where programs may run can be named: ssh://HOST/FOLDER"};
  return std::nullopt;
}

} // namespace fathom::tune
