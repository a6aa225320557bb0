// What an installation offers around the tool: manual pages, and completions of shells. All from the tables of commands
// and options.
#pragma once

#include "tools/fathom/Commands.h"

namespace fathom {

// fathom(1), and fathom-COMMAND(1), as roff.
void printManPage(llvm::raw_ostream &out);
void printManPage(const Command &command, llvm::raw_ostream &out);

// For bash, zsh or fish; false for another shell.
bool printCompletion(llvm::StringRef shell, llvm::raw_ostream &out);

} // namespace fathom
