// Databases of schedules as text, a line of JSON for every kernel and entry, and their way from one into another.
#pragma once

#include "compiler/tune/database/ScheduleDatabase.h"
#include "llvm/Support/JSON.h"

namespace fathom::tune {

// What an entry says, without the text of its kernel: `kernel` is that text's hash.
llvm::json::Object describe(const Entry &entry);

// Kernels come before the entries that name them.
llvm::Error exportLines(ScheduleDatabase &database, llvm::raw_ostream &out);
// All lines, or none where one is wrong. Gives the number of entries that were read; `fileName` is for messages.
llvm::Expected<int64_t> importLines(ScheduleDatabase &database, llvm::StringRef text, llvm::StringRef fileName);
// The same from another database.
llvm::Expected<int64_t> mergeFrom(ScheduleDatabase &database, ScheduleDatabase &other);

} // namespace fathom::tune
