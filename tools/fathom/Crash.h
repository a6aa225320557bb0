// What happens when the tool itself fails: a note with all that a report needs, and exit code 70.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace fathom {

void installCrashHandler(int argc, char **argv);

// Removes this file when the process is interrupted or crashes.
void removeWhenInterrupted(llvm::StringRef path);

} // namespace fathom
