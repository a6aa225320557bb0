// An open connection to the engine that keeps a database: all that differs between engines. What is asked of them is
// SQL that all of them understand, with parameters $1, $2, ...
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <chrono>
#include <memory>
#include <variant>

namespace fathom::tune {

enum class Access { Read, Write };

// Binds a parameter for the time of a call.
using Value = std::variant<int64_t, double, llvm::StringRef>;

// A row of an answer. Texts hold until the next one.
class Row {
public:
  virtual ~Row() = default;
  virtual int64_t integer(int column) const = 0;
  virtual double number(int column) const = 0;
  virtual llvm::StringRef text(int column) const = 0;
};

class Connection {
public:
  virtual ~Connection() = default;

  // How messages call the database.
  virtual llvm::StringRef name() const = 0;
  // One statement; `take` is called with every row of its answer and may stop with an error.
  virtual llvm::Error execute(llvm::StringRef sql, llvm::ArrayRef<Value> values = {},
                              llvm::function_ref<llvm::Error(const Row &)> take = {}) = 0;
  // Whether it was lost, so that all statements fail until it is opened again.
  virtual bool isLost() const { return false; }
  virtual llvm::Error reopen() { return llvm::Error::success(); }
  // Starts a transaction that writes. Whoever else wants one waits.
  virtual llvm::Error begin() = 0;
  // The version of the tables; 0 where there are none.
  virtual llvm::Expected<int64_t> schemaVersion() = 0;
  virtual llvm::Error setSchemaVersion(int64_t version) = 0;
  // A statement that makes tables, so that their texts are compared byte by byte, as answers must not depend on the
  // engine's language.
  virtual std::string defining(llvm::StringRef statement) const { return statement.str(); }

  // What `body` does, all of it or nothing.
  llvm::Error transaction(llvm::function_ref<llvm::Error()> body) {
    if (llvm::Error error = begin())
      return error;
    llvm::Error error = body();
    if (!error)
      error = execute("COMMIT");
    // That fails where the engine has given the transaction up already, and says nothing new.
    if (error)
      llvm::consumeError(execute("ROLLBACK"));
    return error;
  }
};

// A file of SQLite. To read, there must be one; to write, it is made. Others that write are waited for as long as
// `patience` says.
llvm::Expected<std::unique_ptr<Connection>> openSqlite(llvm::StringRef path, Access access,
                                                       std::chrono::milliseconds patience);

// A database in memory, which ends with its connection.
llvm::Expected<std::unique_ptr<Connection>> openMemory(llvm::StringRef name);

// The database that an address of PostgreSQL names. To write, its tables are made where they are missing.
llvm::Expected<std::unique_ptr<Connection>> openPostgres(llvm::StringRef address, Access access,
                                                         std::chrono::milliseconds patience);

} // namespace fathom::tune
