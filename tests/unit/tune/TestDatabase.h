// Databases in files of their own, and entries to put there.
#pragma once

#include "compiler/kernel/KernelClass.h"
#include "compiler/support/Failure.h"
#include "compiler/tune/database/ScheduleDatabase.h"
#include "gtest/gtest.h"
#include <filesystem>
#include <unistd.h>

namespace fathom::tune {

// A folder that goes away with the object, and the file of a database in it.
class TestFolder {
public:
  TestFolder() {
    std::string made = testing::TempDir() + "/fathom-XXXXXX";
    folder = mkdtemp(made.data());
  }
  ~TestFolder() { std::filesystem::remove_all(folder); }
  std::string file(const std::string &name = "schedules.db") const { return (folder / name).string(); }
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto &entry : std::filesystem::directory_iterator(folder))
      names.push_back(entry.path().filename());
    llvm::sort(names);
    return names;
  }

  std::filesystem::path folder;
};

// A schedule of class contract, with this many rows in a tile.
inline Entry makeEntry(const std::string &kernel, int64_t tileM) {
  Entry entry;
  entry.kernel = kernel;
  entry.kernelClass = "contract";
  entry.sizes = {1, 64, 56};
  entry.target = "aarch64-unknown-linux-gnu:neoverse-v1";
  entry.machine = "m1";
  entry.generator = "1";
  entry.threads = 16;
  entry.schedule = contractClass.family.initial();
  entry.schedule.set("tile_m", tileM);
  llvm::sort(entry.schedule.knobs);
  entry.found = Found::Static;
  entry.cycles = 1000;
  entry.time = 1700000000;
  entry.provenance = "made up";
  return entry;
}

inline Entry measured(Entry entry, double nanoseconds) {
  entry.found = Found::Measured;
  entry.samples = 9;
  entry.nanoseconds = nanoseconds;
  entry.spread = 1.5;
  return entry;
}

inline Lookup lookupOf(const Entry &entry) {
  return {entry.kernel, entry.kernelClass, entry.target, entry.generator, entry.fp, entry.machine, entry.threads};
}

// The value, or a failure of the test that says why there is none.
template <typename T> T expectValue(llvm::Expected<T> value) {
  if (value)
    return std::move(*value);
  ADD_FAILURE() << llvm::toString(value.takeError());
  abort();
}

inline void expectSuccess(llvm::Error error) {
  bool failed = bool(error);
  EXPECT_FALSE(failed) << llvm::toString(std::move(error));
}

// What an error is and says; code 0: there is none.
struct Told {
  unsigned code = 0;
  std::string message;
};
inline Told told(llvm::Error error) {
  Told told;
  llvm::handleAllErrors(std::move(error),
                        [&](const Failure &failure) { told = {unsigned(failure.code), failure.message}; });
  return told;
}
template <typename T> Told told(llvm::Expected<T> value) { return told(value.takeError()); }

inline std::unique_ptr<ScheduleDatabase> openDatabase(const std::string &path, Access access = Access::Write) {
  return expectValue(ScheduleDatabase::open(path, access));
}

inline std::vector<Entry> allEntries(ScheduleDatabase &database, const Filter &filter = {}) {
  std::vector<Entry> entries;
  expectSuccess(database.visit(filter, [&](const Entry &entry) {
    entries.push_back(entry);
    return llvm::Error::success();
  }));
  return entries;
}

} // namespace fathom::tune
