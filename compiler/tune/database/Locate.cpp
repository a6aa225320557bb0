// Names and places of databases of schedules.
#include "compiler/tune/database/Locate.h"

#include "compiler/support/Failure.h"
#include "compiler/tune/database/ServerAddress.h"
#include "compiler/tune/database/Zoo.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace llvm;

namespace fathom::tune {

static StringRef variable(const char *name) {
  const char *value = getenv(name);
  return value ? value : "";
}

// Where the XDG Base Directory Specification has data of programs; empty where there is no such place.
static std::string dataFolder() {
  SmallString<128> folder(variable("XDG_DATA_HOME"));
  if (!sys::path::is_absolute(folder)) {
    folder = variable("HOME");
    if (!sys::path::is_absolute(folder))
      return "";
    sys::path::append(folder, ".local", "share");
  }
  sys::path::append(folder, "fathom");
  return std::string(folder);
}

std::optional<DatabaseFile> locate(StringRef option) {
  StringRef named = option.empty() ? variable("FATHOM_DB") : option;
  if (named == "none")
    return std::nullopt;
  if (!named.empty())
    return DatabaseFile{named.str(), /*isNamed=*/true};
  std::string folder = dataFolder();
  if (folder.empty())
    return std::nullopt;
  return DatabaseFile{folder + "/schedules.db", /*isNamed=*/false};
}

bool DatabaseFile::isMissing() const { return !isServerAddress(path) && path != zooName && !sys::fs::exists(path); }

Expected<std::unique_ptr<ScheduleDatabase>> openToRead(const DatabaseFile &file) {
  return file.path == zooName ? openZoo() : ScheduleDatabase::open(file.path, Access::Read);
}

Expected<std::unique_ptr<ScheduleDatabase>> openToWrite(const DatabaseFile &file) {
  if (file.path == zooName)
    return fail(ErrorCode::FileUnwritable, "the database 'zoo' is part of fathom and cannot be written",
                "`fathom db merge zoo` copies it into another one");
  StringRef folder = sys::path::parent_path(file.path);
  if (!file.isNamed)
    if (std::error_code code = sys::fs::create_directories(folder))
      return fail(ErrorCode::FileUnwritable, "cannot make the folder '" + folder + "': " + code.message());
  return ScheduleDatabase::open(file.path, Access::Write);
}

void warn(mlir::Location loc, Error error) {
  handleAllErrors(std::move(error), [&](const Failure &failure) {
    mlir::InFlightDiagnostic warning = mlir::emitWarning(loc);
    warning << "[F" << unsigned(failure.code) << "] " << failure.message << "; going on without it";
    if (!failure.hint.empty())
      hint(std::move(warning), failure.hint);
  });
}

std::unique_ptr<ScheduleDatabase> openForCompile(StringRef option, mlir::Location loc) {
  std::optional<DatabaseFile> file = locate(option);
  // Nobody has tuned yet, unless somebody names it now.
  if (!file || (option.empty() && file->isMissing()))
    return nullptr;
  Expected<std::unique_ptr<ScheduleDatabase>> database = openToRead(*file);
  if (database)
    return std::move(*database);
  warn(loc, database.takeError());
  return nullptr;
}

} // namespace fathom::tune
