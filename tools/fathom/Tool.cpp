// The command line tool: picks the command and turns its outcome into an exit code.
#include "tools/fathom/Tool.h"

#include "compiler/driver/Manifest.h"
#include "tools/fathom/Commands.h"
#include "tools/fathom/Crash.h"
#include "tools/fathom/help/ShellHelp.h"

using namespace fathom;

// What people ask for, and what the documentation and an installation are made of.
static int help(llvm::ArrayRef<const char *> words) {
  llvm::StringRef what = words.empty() ? "" : words[0], of = words.size() > 1 ? words[1] : "";
  const Command *command = findCommand(what == "--man" ? of : what);
  if (what == "--man")
    command ? printManPage(*command, llvm::outs()) : printManPage(llvm::outs());
  else if (command)
    printHelp(*command, llvm::outs());
  else if (what == "--markdown")
    printReference(llvm::outs());
  else if (what == "--markdown-python")
    printPythonReference(llvm::outs());
  else if (what == "--completion" && !printCompletion(of, llvm::outs()))
    return report(fail(usageError, "no completion for the shell '" + of + "'", "there are bash, zsh and fish"));
  else if (what != "--completion")
    printHelp(llvm::outs());
  return 0;
}

static int dispatch(llvm::ArrayRef<const char *> words) {
  if (words.empty()) {
    printHelp(llvm::errs());
    return exitCodeFor(usageError);
  }
  llvm::StringRef name = words.front();
  if (name == "--help" || name == "-h" || name == "help")
    return help(words.drop_front());
  if (name == "--version")
    return llvm::outs() << "fathom " << compilerVersion << "\n", 0;
  const Command *command = findCommand(name);
  if (!command) {
    llvm::StringRef meant = nearestCommand(name);
    std::string question = meant.empty() ? "" : ("; did you mean '" + meant + "'?").str();
    return report(fail(usageError, "unknown command '" + name + "'" + question, "'fathom --help' lists the commands"));
  }
  for (llvm::StringRef word : words.drop_front()) {
    if (word == "--")
      break;
    if (word == "--help" || word == "-h")
      return printHelp(*command, llvm::outs()), 0;
  }
  auto arguments = parseArguments(*command, words.drop_front());
  if (!arguments)
    return report(arguments.takeError());
  if (arguments->options.flag("quiet"))
    silence();
  auto exitCode = command->run(*arguments);
  return exitCode ? *exitCode : report(exitCode.takeError());
}

int fathom_main(int argc, char **argv) {
  openStandardStreams();
  installCrashHandler(argc, argv);
  int exitCode = dispatch(llvm::ArrayRef<const char *>(argv + 1, argc > 0 ? argc - 1 : 0));
  clearProgress();
  llvm::outs().flush();
  // A reader that went away or a full disk: what was asked for did not arrive.
  if (llvm::outs().has_error()) {
    std::string reason = llvm::outs().error().message();
    llvm::outs().clear_error();
    exitCode = report(fail(ErrorCode::FileUnwritable, "cannot write to stdout: " + reason));
  }
  // Nobody can be told that stderr does not work; LLVM would take it for a fatal error at the end.
  llvm::errs().clear_error();
  return exitCode;
}
