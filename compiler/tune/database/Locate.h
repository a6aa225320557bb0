// Which database of schedules is meant: the one that --db names, the environment's, or the user's.
#pragma once

#include "compiler/tune/database/ScheduleDatabase.h"
#include "mlir/IR/Location.h"

namespace fathom::tune {

struct DatabaseFile {
  std::string path;    // or the address of a server, or `zoo`, what comes with Fathom
  bool isNamed = true; // by somebody, and not the user's default

  // A file that there is not. Of servers nobody knows before they are asked.
  bool isMissing() const;
};

// What --db says (empty: nothing), or else $FATHOM_DB, or else schedules.db in the user's data folder. Nothing where
// either is `none`, or there is no such folder.
std::optional<DatabaseFile> locate(llvm::StringRef option);

llvm::Expected<std::unique_ptr<ScheduleDatabase>> openToRead(const DatabaseFile &file);
// Makes the user's data folder where it is missing.
llvm::Expected<std::unique_ptr<ScheduleDatabase>> openToWrite(const DatabaseFile &file);

// The database that a compilation takes schedules from; null where there is none. One that cannot be read is a warning
// at `loc`, and nobody's end.
std::unique_ptr<ScheduleDatabase> openForCompile(llvm::StringRef option, mlir::Location loc);
// Tells as a warning that a database is of no use, and why.
void warn(mlir::Location loc, llvm::Error error);

} // namespace fathom::tune
