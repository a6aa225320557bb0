// The commands of the tool: their names, what they take, and the functions that carry them out.
#pragma once

#include "compiler/driver/Options.h"
#include "tools/fathom/Terminal.h"
#include "llvm/Support/JSON.h"

namespace fathom {

struct Arguments {
  OptionValues options;
  std::vector<std::string> positional;
};

struct Command {
  CommandBit bit;
  llvm::StringRef name;
  llvm::StringRef
      operand; // what help calls the arguments, a word each, in [] what may be missing, ... for any number; empty: none
  llvm::StringRef summary;
  llvm::StringRef details;
  llvm::Expected<int> (*run)(const Arguments &arguments); // gives the exit code
};

llvm::ArrayRef<Command> commandTable();
const Command *findCommand(llvm::StringRef name);
// The command that was probably meant, or an empty string.
llvm::StringRef nearestCommand(llvm::StringRef name);

// An error is a usage error, with a hint.
llvm::Expected<Arguments> parseArguments(const Command &command, llvm::ArrayRef<const char *> words);

// For a model that is compiled already: options that only a compilation would heed are a usage error.
llvm::Error refuseCompileOptions(const OptionValues &options, llvm::StringRef artifact);

struct ExitCodeMeaning {
  int number;
  llvm::StringRef meaning;
};
llvm::ArrayRef<ExitCodeMeaning> exitCodes();

void printHelp(llvm::raw_ostream &out);
void printHelp(const Command &command, llvm::raw_ostream &out);
// Every command and its options, which docs/reference/commands has by pages.
void printReference(llvm::raw_ostream &out);
// The keywords of fathom.compile as the table of docs/user/python.md.
void printPythonReference(llvm::raw_ostream &out);

llvm::Expected<int> compileCommand(const Arguments &arguments);
llvm::Expected<int> runCommand(const Arguments &arguments);
llvm::Expected<int> benchCommand(const Arguments &arguments);
llvm::Expected<int> verifyCommand(const Arguments &arguments);
llvm::Expected<int> quantizeCommand(const Arguments &arguments);
llvm::Expected<int> checkCommand(const Arguments &arguments);
llvm::Expected<int> inspectCommand(const Arguments &arguments);
llvm::Expected<int> explainCommand(const Arguments &arguments);
llvm::Expected<int> doctorCommand(const Arguments &arguments);
llvm::Expected<int> planCommand(const Arguments &arguments);
llvm::Expected<int> passesCommand(const Arguments &arguments);
llvm::Expected<int> tuneCommand(const Arguments &arguments);
llvm::Expected<int> calibrateCommand(const Arguments &arguments);
llvm::Expected<int> diffCommand(const Arguments &arguments);
llvm::Expected<int> databaseCommand(const Arguments &arguments);

// What --target takes, for `--target help`; gives the exit code.
int printTargets(const OptionValues &options);

// Prints a JSON value to stdout: indented for people, in one line for programs. An object gets its schema_version.
void printJson(llvm::json::Value value, bool oneLine);

// Where this program lies, for what lies beside it.
std::string programPath();

} // namespace fathom
