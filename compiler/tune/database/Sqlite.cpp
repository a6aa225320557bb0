// SQLite: a file that several processes read and write at the same time. Nothing in it is trusted, and what a process
// that was killed had not committed is gone.
#include "compiler/support/Failure.h"
#include "compiler/tune/database/Connection.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/FileSystem.h"
#include <sqlite3.h>
#include <thread>

using namespace llvm;

namespace fathom::tune {
namespace {

// Tells files of ours from those of other programs: "Fath".
constexpr int64_t applicationId = 0x46617468;
constexpr int longestValue = 64 << 20;
constexpr StringLiteral remedy =
    "it is damaged or of another program; 'fathom db import' makes a new one of what 'export' wrote";

class SqliteRow final : public Row {
public:
  explicit SqliteRow(sqlite3_stmt *statement) : statement(statement) {}
  int64_t integer(int column) const override { return sqlite3_column_int64(statement, column); }
  double number(int column) const override { return sqlite3_column_double(statement, column); }
  StringRef text(int column) const override {
    const auto *begin = reinterpret_cast<const char *>(sqlite3_column_text(statement, column));
    return begin ? StringRef(begin, sqlite3_column_bytes(statement, column)) : StringRef();
  }

private:
  sqlite3_stmt *statement;
};

class Sqlite final : public Connection {
public:
  Sqlite(StringRef path, Access access, std::chrono::milliseconds patience)
      : path(path), access(access), patience(patience) {}
  ~Sqlite() override { sqlite3_close(database); }

  Error openToRead();
  Error openToWrite();
  Error openInMemory() { return open(":memory:", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE); }

  StringRef name() const override { return path; }
  Error execute(StringRef sql, ArrayRef<Value> values, function_ref<Error(const Row &)> take) override;
  Error begin() override;
  Expected<int64_t> schemaVersion() override;
  Error setSchemaVersion(int64_t version) override;

private:
  Error open(const std::string &file, int flags);
  Error run(const Twine &sql) { return execute(sql.str(), {}, {}); }
  Expected<int64_t> ask(StringRef question);
  // What the engine's last answer means.
  Error failure() const;

  std::string path;
  Access access;
  std::chrono::milliseconds patience;
  sqlite3 *database = nullptr;
};

Error Sqlite::failure() const {
  std::string quoted = "'" + path + "'", reason = sqlite3_errmsg(database);
  ErrorCode access = this->access == Access::Read ? ErrorCode::FileUnreadable : ErrorCode::FileUnwritable;
  switch (sqlite3_errcode(database) & 0xff) {
  case SQLITE_BUSY:
  case SQLITE_LOCKED:
    return fail(access,
                "the database " + quoted + " is locked by another program for longer than " + Twine(patience.count()) +
                    " ms",
                "wait until it is done, or name another one with --db");
  case SQLITE_READONLY:
    return fail(ErrorCode::FileUnwritable, "the database " + quoted + " is read-only",
                "check its permissions and those of its folder");
  case SQLITE_CANTOPEN:
  case SQLITE_IOERR:
  case SQLITE_PERM:
  case SQLITE_FULL:
    return fail(access, "cannot " + Twine(this->access == Access::Read ? "read" : "write") + " the database " + quoted +
                            ": " + reason);
  case SQLITE_NOMEM:
    return fail(ErrorCode::Device, "out of memory in the database " + quoted);
  default:
    return fail(ErrorCode::BadDatabase, quoted + " cannot be used as a database of schedules: " + reason, remedy);
  }
}

// An empty text is one all the same, where SQLite takes a null pointer for NULL.
int bindText(sqlite3_stmt *statement, int place, StringRef text) {
  return sqlite3_bind_text64(statement, place, text.empty() ? "" : text.data(), text.size(), SQLITE_STATIC,
                             SQLITE_UTF8);
}

Error Sqlite::execute(StringRef sql, ArrayRef<Value> values, function_ref<Error(const Row &)> take) {
  sqlite3_stmt *statement = nullptr;
  if (sqlite3_prepare_v2(database, sql.data(), int(sql.size()), &statement, nullptr) != SQLITE_OK)
    return failure();
  scope_exit finalize([&] { sqlite3_finalize(statement); });
  for (const auto &[i, value] : enumerate(values)) {
    int place = sqlite3_bind_parameter_index(statement, ("$" + std::to_string(i + 1)).c_str());
    int result = 0;
    if (const auto *integer = std::get_if<int64_t>(&value))
      result = sqlite3_bind_int64(statement, place, *integer);
    else if (const auto *number = std::get_if<double>(&value))
      result = sqlite3_bind_double(statement, place, *number);
    else
      result = bindText(statement, place, std::get<StringRef>(value));
    if (result != SQLITE_OK)
      return failure();
  }
  for (;;) {
    int result = sqlite3_step(statement);
    if (result == SQLITE_DONE)
      return Error::success();
    if (result != SQLITE_ROW)
      return failure();
    if (take)
      if (Error error = take(SqliteRow(statement)))
        return error;
  }
}

Expected<int64_t> Sqlite::ask(StringRef question) {
  int64_t answer = 0;
  auto take = [&](const Row &row) { return answer = row.integer(0), Error::success(); };
  if (Error error = execute(question, {}, take))
    return std::move(error);
  return answer;
}

Error Sqlite::begin() {
  // SQLite would go on writing to a file without a name.
  int moved = 0;
  if (sqlite3_file_control(database, "main", SQLITE_FCNTL_HAS_MOVED, &moved) == SQLITE_OK && moved)
    return fail(ErrorCode::FileUnwritable, "the database '" + path + "' was moved or removed while it was in use");
  return run("BEGIN IMMEDIATE");
}

Expected<int64_t> Sqlite::schemaVersion() {
  // One transaction, for another process may be making the tables.
  if (sqlite3_get_autocommit(database)) {
    if (Error error = run("BEGIN"))
      return std::move(error);
    Expected<int64_t> version = schemaVersion();
    consumeError(run("COMMIT"));
    return version;
  }
  Expected<int64_t> application = ask("PRAGMA application_id");
  if (!application)
    return application;
  Expected<int64_t> version = ask("PRAGMA user_version");
  if (!version || *application == applicationId)
    return version;
  Expected<int64_t> tables = ask("SELECT count(*) FROM sqlite_master");
  if (!tables)
    return tables;
  if (*application || *version || *tables)
    return fail(ErrorCode::BadDatabase, "'" + path + "' is a database, but not one of schedules",
                "name one of schedules with --db");
  return 0;
}

Error Sqlite::setSchemaVersion(int64_t version) {
  if (Error error = run("PRAGMA application_id = " + Twine(applicationId)))
    return error;
  return run("PRAGMA user_version = " + Twine(version));
}

Error Sqlite::open(const std::string &file, int flags) {
  sqlite3_close(database);
  if (sqlite3_open_v2(file.c_str(), &database, flags, nullptr) != SQLITE_OK)
    return failure();
  sqlite3_extended_result_codes(database, 1);
  sqlite3_busy_timeout(database, int(patience.count()));
  // A file may hold code that runs when it is read (views, triggers) and pages that are not what they seem.
  sqlite3_db_config(database, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
  sqlite3_db_config(database, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_limit(database, SQLITE_LIMIT_LENGTH, longestValue);
  return run("PRAGMA cell_size_check = ON");
}

// A path as SQLite's URI takes it.
std::string uriOf(StringRef path) {
  std::string uri = "file:";
  for (unsigned char c : path)
    uri += isAlnum(c) || StringRef("/._-").contains(c) ? std::string(1, c) : "%" + toHex(ArrayRef(c));
  return uri;
}

Error Sqlite::openToRead() {
  // With the right to write where we have it: whoever is the last to close the file removes those beside it.
  if (Error error = open(path, SQLITE_OPEN_READWRITE))
    return error;
  if (Error error = run("PRAGMA query_only = ON"))
    return error;
  // Readers make files beside the database, through which they and writers know of each other. In a folder where none
  // can be made nobody writes either, unless there are such files already.
  int result = sqlite3_exec(database, "SELECT count(*) FROM sqlite_master", nullptr, nullptr, nullptr) & 0xff;
  if ((result == SQLITE_CANTOPEN || result == SQLITE_READONLY) && !sys::fs::exists(path + "-wal"))
    return open(uriOf(path) + "?immutable=1", SQLITE_OPEN_READONLY | SQLITE_OPEN_URI);
  return Error::success();
}

Error Sqlite::openToWrite() {
  if (Error error = open(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE))
    return error;
  if (sqlite3_db_readonly(database, "main") == 1)
    return fail(ErrorCode::FileUnwritable, "the database '" + path + "' is read-only",
                "check its permissions and those of its folder");
  // Before anything is changed.
  if (Expected<int64_t> version = schemaVersion(); !version)
    return version.takeError();
  // Pages that are free go back to the system. It counts for files without tables only.
  if (Error error = run("PRAGMA auto_vacuum = FULL"))
    return error;
  // A log beside the file, so that readers and a writer do not wait for each other; it stays as it is where the file
  // system cannot. Here SQLite does not wait for others by itself.
  auto start = std::chrono::steady_clock::now();
  while (sqlite3_exec(database, "PRAGMA journal_mode = WAL", nullptr, nullptr, nullptr) != SQLITE_OK) {
    bool busy = (sqlite3_errcode(database) & 0xff) == SQLITE_BUSY;
    if (!busy || std::chrono::steady_clock::now() - start > patience)
      return failure();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  // With a log, that loses nothing when a process is killed.
  return run("PRAGMA synchronous = NORMAL");
}

} // namespace

Expected<std::unique_ptr<Connection>> openMemory(StringRef name) {
  auto connection = std::make_unique<Sqlite>(name, Access::Write, std::chrono::milliseconds(0));
  if (Error error = connection->openInMemory())
    return std::move(error);
  return connection;
}

Expected<std::unique_ptr<Connection>> openSqlite(StringRef path, Access access, std::chrono::milliseconds patience) {
  // Some names mean something else to SQLite, such as :memory:, and those of pipes would have it wait.
  SmallString<256> file(path);
  sys::fs::file_status status;
  std::error_code code = sys::fs::make_absolute(file);
  if (!code)
    code = sys::fs::status(file, status);
  bool missing = code == std::errc::no_such_file_or_directory && access == Access::Write;
  if (code && !missing)
    return fail(ErrorCode::FileUnreadable, "cannot read the database '" + path + "': " + code.message());
  if (!missing && !sys::fs::is_regular_file(status))
    return fail(ErrorCode::FileUnreadable, "cannot read the database '" + path + "': it is not a regular file");
  // SQLite takes what is shorter than its header for a file without tables.
  if (constexpr uint64_t headerBytes = 100; !missing && status.getSize() && status.getSize() < headerBytes)
    return fail(ErrorCode::BadDatabase, "'" + path + "' cannot be used as a database of schedules: it is too short",
                remedy);
  auto connection = std::make_unique<Sqlite>(file, access, patience);
  if (Error error = access == Access::Read ? connection->openToRead() : connection->openToWrite())
    return std::move(error);
  return connection;
}

} // namespace fathom::tune
