// A database of schedules that were found: what tuning writes, and compiling reads. Answers come in an order that
// depends on the entries alone, so that the same entries give the same code.
#pragma once

#include "compiler/tune/database/Connection.h"
#include "compiler/tune/database/Entry.h"
#include <functional>

namespace fathom::tune {

// A kernel that wants a schedule.
struct Lookup {
  std::string kernel;      // its canonical text
  std::string kernelClass; // empty: of any class
  std::string target, generator;
  FloatMode fp = FloatMode::Fast;
  // Where there are entries for these, they are better than others.
  std::string machine;
  int64_t threads = 0;
};

// What entries must have; empty: whatever they have.
struct Filter {
  std::string kernelClass, target, generator, fp;
};

// Used by one thread at a time.
class ScheduleDatabase {
public:
  // A file, or an address of a server. To write, a file that is missing is made, and one of an older version is brought
  // to the newest. Others that write are waited for as long as `patience` says.
  static llvm::Expected<std::unique_ptr<ScheduleDatabase>>
  open(llvm::StringRef name, Access access, std::chrono::milliseconds patience = std::chrono::seconds(30));

  // An empty one of this process alone.
  static llvm::Expected<std::unique_ptr<ScheduleDatabase>> inMemory(llvm::StringRef name);

  llvm::StringRef name() const { return connection->name(); }

  // The best schedule that is known of a kernel: entries for its machine come before those for others of its target,
  // measured ones before estimates, and a draft's estimate last.
  llvm::Expected<std::optional<Entry>> best(const Lookup &lookup);
  // Calls `body` with all entries, or all of a class, ...; the best of a kernel first.
  llvm::Error visit(const Filter &filter, llvm::function_ref<llvm::Error(const Entry &)> body);
  // The entries whose id begins so.
  llvm::Expected<std::vector<Entry>> find(llvm::StringRef idStart);

  using Insert = llvm::function_ref<llvm::Error(const Entry &)>;
  // What `body` inserts, all of it or, after an error, nothing. Of two entries of one schedule, that with more samples
  // stays, or else the later one.
  llvm::Error write(llvm::function_ref<llvm::Error(Insert)> body);
  // A connection that is lost meanwhile is opened once again, and `onReopen` told why; inserting twice changes nothing.
  llvm::Error insert(llvm::ArrayRef<Entry> entries);
  std::function<void(const std::string &why)> onReopen;
  // Removes what nobody asks for: entries of other generators, and all but the best so many schedules of a kernel on a
  // machine. Gives the number of entries that are gone.
  llvm::Expected<int64_t> prune(llvm::StringRef generator, int64_t keep);

private:
  explicit ScheduleDatabase(std::unique_ptr<Connection> connection) : connection(std::move(connection)) {}

  llvm::Error select(llvm::StringRef conditions, llvm::ArrayRef<Value> values,
                     llvm::function_ref<llvm::Error(const Entry &)> body);
  llvm::Error insertAll(llvm::ArrayRef<Entry> entries);
  llvm::Error insertOne(const Entry &entry);
  llvm::Expected<int64_t> count();

  std::unique_ptr<Connection> connection;
  bool wasReopened = false;
};

} // namespace fathom::tune
