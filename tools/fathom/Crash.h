// What happens when the tool itself fails: a note with all that a report needs, and exit code 70.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace fathom {

// Opens standard streams that are closed, so that no file of ours gets their number.
void openStandardStreams();

void installCrashHandler(int argc, char **argv);

// Removes this file when the process is interrupted or crashes.
void removeWhenInterrupted(llvm::StringRef path);

} // namespace fathom
