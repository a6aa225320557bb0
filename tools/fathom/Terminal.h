// What the tool says to people: errors with codes and hints, progress and colours, all on stderr. Data goes to stdout
// and not through here.
#pragma once

#include "compiler/driver/DiagnosticLog.h"
#include "compiler/support/Failure.h"
#include "llvm/Support/raw_ostream.h"

namespace fathom {

// A command line that makes no sense (exit code 2). The compiler knows no such error, so the code lives here.
inline constexpr ErrorCode usageError = ErrorCode(2001);

// Text of unknown origin with control characters escaped, so that a name in a model cannot steer the terminal or pose
// as a message of ours.
std::string printable(llvm::StringRef text);

// Prints an error and gives the exit code for it; 0 for success.
int report(llvm::Error error);

// Prints a diagnostic of the compiler.
void printDiagnostic(const LoggedDiagnostic &diagnostic);

// stderr for what only a person wants to read; nowhere after silence().
llvm::raw_ostream &notes();
void silence();

// ", 4 min left", at the rate so far; nothing where that says nothing yet.
std::string spellTimeLeft(double passedSeconds, size_t done, size_t total);
// One line on a terminal that is overwritten as things go on; nothing elsewhere. May be called from several threads.
void showProgress(llvm::StringRef stage, size_t done, size_t total);
void clearProgress();

// "13.9 MB"
std::string spellBytes(uint64_t bytes);

} // namespace fathom
