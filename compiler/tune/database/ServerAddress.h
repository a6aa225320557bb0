// Addresses of servers that have databases of schedules: postgresql://[USER[:PASSWORD]@]HOST[:PORT]/DATABASE[?...].
#pragma once

#include "llvm/ADT/StringRef.h"
#include <string>

namespace fathom::tune {

// Whether a database is named that is no file.
bool isServerAddress(llvm::StringRef name);

// The address as messages may have it, also of one that is malformed: rather too little of it than a password.
std::string withoutPassword(llvm::StringRef address);

} // namespace fathom::tune
