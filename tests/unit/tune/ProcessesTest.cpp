// Several processes with one database: none loses what another wrote, and one that is killed loses at most what it was
// writing. Chance comes from a seed that is printed; FATHOM_TEST_SEED repeats one.
#include "tests/unit/tune/TestDatabase.h"
#include <csignal>
#include <random>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>

using namespace fathom;
using namespace fathom::tune;

namespace {

// Runs `body` in a process of its own, which ends with what it gives.
pid_t start(llvm::function_ref<int()> body) {
  pid_t process = fork();
  if (process == 0)
    _exit(body());
  return process;
}

int statusOf(pid_t process) {
  int status = -1;
  waitpid(process, &status, 0);
  return status;
}

// Inserts one entry; gives 1 where that fails, and says why.
int insertOne(ScheduleDatabase &database, const std::string &kernel) {
  if (llvm::Error error = database.insert(makeEntry(kernel, 1)))
    return fprintf(stderr, "%s\n", llvm::toString(std::move(error)).c_str()), 1;
  return 0;
}

TEST(Processes, EightWriteIntoOneFile) {
  constexpr int processes = 8, inserts = 200;
  TestFolder folder;
  std::vector<pid_t> running;
  for (int p = 0; p < processes; ++p)
    running.push_back(start([&] {
      // All of them make the file.
      auto database = ScheduleDatabase::open(folder.file(), Access::Write, std::chrono::minutes(5));
      if (!database)
        return fprintf(stderr, "%s\n", llvm::toString(database.takeError()).c_str()), 1;
      for (int i = 0; i < inserts; ++i)
        if (insertOne(**database, std::to_string(p) + "." + std::to_string(i)))
          return 1;
      return 0;
    }));
  for (pid_t process : running)
    EXPECT_EQ(statusOf(process), 0);
  auto database = openDatabase(folder.file(), Access::Read);
  EXPECT_EQ(allEntries(*database).size(), size_t(processes * inserts));
  for (int p = 0; p < processes; ++p)
    for (int i = 0; i < inserts; ++i)
      EXPECT_TRUE(expectValue(database->best(lookupOf(makeEntry(std::to_string(p) + "." + std::to_string(i), 1)))));
}

TEST(Processes, OneThatIsKilledLosesAtMostItsLastEntry) {
  const char *text = std::getenv("FATHOM_TEST_SEED");
  unsigned long long seed = text ? std::strtoull(text, nullptr, 10) : std::random_device()();
  std::printf("repeat with FATHOM_TEST_SEED=%llu\n", seed);
  std::mt19937_64 random(seed);
  TestFolder folder;
  int total = 0;
  for (int round = 0; round < 20; ++round) {
    int told[2];
    ASSERT_EQ(pipe(told), 0);
    pid_t process = start([&] {
      auto database = openDatabase(folder.file());
      for (int i = 0;; ++i)
        if (insertOne(*database, std::to_string(round) + "." + std::to_string(i)) || ::write(told[1], "x", 1) != 1)
          return 1;
    });
    close(told[1]);
    // It lives for some entries, the first round's at least for making the tables.
    char one;
    int done = 0;
    for (int wanted = std::uniform_int_distribution<int>(0, 40)(random); done < wanted && read(told[0], &one, 1) == 1;)
      ++done;
    std::this_thread::sleep_for(std::chrono::microseconds(std::uniform_int_distribution<int>(0, 3000)(random)));
    kill(process, SIGKILL);
    EXPECT_TRUE(WIFSIGNALED(statusOf(process)));
    while (read(told[0], &one, 1) == 1)
      ++done;
    close(told[0]);
    int there = int(allEntries(*openDatabase(folder.file(), Access::Write)).size()) - total;
    EXPECT_GE(there, done);
    EXPECT_LE(there, done + 1);
    total += there;
  }
  EXPECT_GT(total, 20);
}

// As who may not write, also where the tests are run by root.
int asNobody(llvm::function_ref<int()> body) {
  return statusOf(start([&] { return geteuid() == 0 && setuid(65534) != 0 ? 2 : body(); }));
}

TEST(Processes, WhoMayOnlyReadReads) {
  TestFolder folder;
  expectSuccess(openDatabase(folder.file())->insert(makeEntry("a", 1)));
  // Neither the file nor one beside it can be written.
  chmod(folder.file().c_str(), 0444);
  chmod(folder.folder.c_str(), 0555);
  auto readsAll = [&] {
    auto database = ScheduleDatabase::open(folder.file(), Access::Read);
    return database && allEntries(**database).size() == 1 ? 0 : 1;
  };
  EXPECT_EQ(asNobody(readsAll), 0);
  EXPECT_EQ(asNobody([&] { return told(ScheduleDatabase::open(folder.file(), Access::Write)).code == 1014 ? 0 : 1; }),
            0);
  // Nor can a new one be made.
  EXPECT_EQ(
      asNobody([&] { return told(ScheduleDatabase::open(folder.file("new"), Access::Write)).code == 1014 ? 0 : 1; }),
      0);
  // While somebody else writes, what was committed is read; without a right to look beside the file, that is an error.
  chmod(folder.folder.c_str(), 0755);
  {
    chmod(folder.file().c_str(), 0644);
    auto writer = openDatabase(folder.file());
    expectSuccess(writer->insert(makeEntry("a", 1)));
    EXPECT_EQ(asNobody(readsAll), 0);
  }
  chmod(folder.file().c_str(), 0);
  EXPECT_EQ(asNobody([&] { return told(ScheduleDatabase::open(folder.file(), Access::Read)).code == 1001 ? 0 : 1; }),
            0);
}

} // namespace
