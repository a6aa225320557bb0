// What a database of schedules remembers and answers, and which files it refuses.
#include "compiler/tune/database/Locate.h"
#include "tests/unit/tune/TestDatabase.h"
#include <fstream>
#include <sqlite3.h>

using namespace fathom;
using namespace fathom::tune;

namespace {

std::vector<int64_t> tilesOf(llvm::ArrayRef<Entry> entries) {
  std::vector<int64_t> tiles;
  for (const Entry &entry : entries)
    tiles.push_back(entry.schedule.value("tile_m"));
  return tiles;
}

// The tile of the best entry; 0 where there is none.
int64_t bestTile(ScheduleDatabase &database, const Lookup &lookup) {
  auto best = expectValue(database.best(lookup));
  return best ? best->schedule.value("tile_m") : 0;
}

void runSql(const std::string &path, const char *sql) {
  sqlite3 *database;
  ASSERT_EQ(sqlite3_open(path.c_str(), &database), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(database, sql, nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(database);
  sqlite3_close(database);
}

std::string read(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}
void write(const std::string &path, const std::string &text) { std::ofstream(path, std::ios::binary) << text; }

TEST(Database, KeepsEverythingOfAnEntry) {
  TestFolder folder;
  Entry entry = measured(makeEntry("kernel \"a\"\n  of two lines", 4), 1234.0625);
  entry.fp = FloatMode::Strict;
  entry.cycles = 0.1;
  expectSuccess(openDatabase(folder.file())->insert(entry));
  auto database = openDatabase(folder.file(), Access::Read);
  EXPECT_EQ(allEntries(*database), std::vector{entry});
  EXPECT_EQ(expectValue(database->best(lookupOf(entry))), entry);
  EXPECT_EQ(expectValue(database->find(entry.id().substr(0, 12))), std::vector{entry});
  EXPECT_TRUE(expectValue(database->find("x")).empty());
}

TEST(Database, LeavesOneFileWhenClosed) {
  TestFolder folder;
  expectSuccess(openDatabase(folder.file())->insert(makeEntry("a", 4)));
  openDatabase(folder.file(), Access::Read);
  EXPECT_EQ(folder.names(), std::vector<std::string>{"schedules.db"});
}

TEST(Database, MeasuredIsBetterThanEstimatedIsBetterThanDraft) {
  TestFolder folder;
  auto database = openDatabase(folder.file());
  Entry draft = makeEntry("a", 1), slow = makeEntry("a", 2), fast = makeEntry("a", 3);
  draft.found = Found::Draft;
  draft.cycles = 1;
  fast.cycles = 900;
  expectSuccess(database->insert({slow, draft}));
  EXPECT_EQ(bestTile(*database, lookupOf(slow)), 2);
  expectSuccess(database->insert(fast));
  EXPECT_EQ(bestTile(*database, lookupOf(slow)), 3);
  expectSuccess(database->insert({measured(makeEntry("a", 4), 6000), measured(makeEntry("a", 5), 5000)}));
  EXPECT_EQ(bestTile(*database, lookupOf(slow)), 5);
  EXPECT_EQ(tilesOf(allEntries(*database)), (std::vector<int64_t>{5, 4, 3, 2, 1}));
}

TEST(Database, LooksUpByWhatAffectsSpeed) {
  TestFolder folder;
  auto database = openDatabase(folder.file());
  Entry entry = makeEntry("a", 4);
  expectSuccess(database->insert(entry));
  auto found = [&](auto change) {
    Lookup lookup = lookupOf(entry);
    change(lookup);
    return bestTile(*database, lookup);
  };
  EXPECT_EQ(found([](Lookup &) {}), 4);
  EXPECT_EQ(found([](Lookup &lookup) { lookup.kernel = "b"; }), 0);
  EXPECT_EQ(found([](Lookup &lookup) { lookup.target = "x86_64-unknown-linux-gnu:x86-64-v3"; }), 0);
  EXPECT_EQ(found([](Lookup &lookup) { lookup.generator = "2"; }), 0);
  EXPECT_EQ(found([](Lookup &lookup) { lookup.fp = FloatMode::Strict; }), 0);
  EXPECT_EQ(found([](Lookup &lookup) { lookup.kernelClass = "winograd"; }), 0);
  EXPECT_EQ(found([](Lookup &lookup) { lookup.kernelClass = ""; }), 4);
  EXPECT_EQ(found([](Lookup &lookup) { lookup.machine = "m2"; }), 4);
  EXPECT_EQ(found([](Lookup &lookup) { lookup.threads = 1; }), 4);
}

TEST(Database, PrefersItsMachineAndThreads) {
  TestFolder folder;
  auto database = openDatabase(folder.file());
  Entry here = measured(makeEntry("a", 1), 5000), there = measured(makeEntry("a", 2), 100),
        alone = measured(makeEntry("a", 3), 9000);
  there.machine = "m2";
  alone.threads = 1;
  expectSuccess(database->insert({here, there, alone}));
  EXPECT_EQ(bestTile(*database, lookupOf(here)), 1);
  EXPECT_EQ(bestTile(*database, lookupOf(there)), 2);
  EXPECT_EQ(bestTile(*database, lookupOf(alone)), 3);
}

TEST(Database, AnswersInAnOrderOfTheEntriesAlone) {
  TestFolder folder;
  std::vector<Entry> entries;
  for (int i = 1; i <= 8; ++i) // all of one cost
    entries.push_back(makeEntry("kernel " + std::to_string(i % 3), i));
  auto forwards = openDatabase(folder.file("a")), backwards = openDatabase(folder.file("b"));
  expectSuccess(forwards->insert(entries));
  std::reverse(entries.begin(), entries.end());
  for (const Entry &entry : entries)
    expectSuccess(backwards->insert(entry));
  EXPECT_EQ(allEntries(*forwards), allEntries(*backwards));
  for (const Entry &entry : entries)
    EXPECT_EQ(bestTile(*forwards, lookupOf(entry)), bestTile(*backwards, lookupOf(entry)));
}

TEST(Database, KeepsTheEntryOfMoreSamplesWhateverCameFirst) {
  Entry estimate = makeEntry("a", 4), few = measured(estimate, 100), many = few, later = estimate;
  many.samples = 30;
  many.nanoseconds = 120;
  later.time += 60;
  later.cycles = 2000;
  for (auto [better, worse] : {std::pair(few, estimate), {many, few}, {later, estimate}, {few, later}})
    for (bool swapped : {false, true}) {
      TestFolder folder;
      auto database = openDatabase(folder.file());
      expectSuccess(database->insert(swapped ? worse : better));
      expectSuccess(database->insert(swapped ? better : worse));
      EXPECT_EQ(allEntries(*database), std::vector{better});
    }
}

TEST(Database, FiltersByClassAndTarget) {
  TestFolder folder;
  auto database = openDatabase(folder.file());
  Entry contract = makeEntry("a", 1), other = makeEntry("b", 2), map = makeEntry("c", 1);
  other.target = "x86_64-unknown-linux-gnu:x86-64-v3";
  map.kernelClass = "map";
  map.schedule = mapClass.family.initial();
  llvm::sort(map.schedule.knobs);
  expectSuccess(database->insert({contract, other, map}));
  EXPECT_EQ(allEntries(*database, {.kernelClass = "map", .target = {}, .generator = {}, .fp = {}}), std::vector{map});
  Filter both{.kernelClass = "contract", .target = other.target, .generator = "1", .fp = "fast"};
  EXPECT_EQ(allEntries(*database, both), std::vector{other});
  both.fp = "strict";
  EXPECT_TRUE(allEntries(*database, both).empty());
}

TEST(Database, PrunesOtherVersionsAndWhatIsNotAmongTheBest) {
  TestFolder folder;
  auto database = openDatabase(folder.file());
  std::vector<Entry> entries;
  for (int i = 1; i <= 5; ++i)
    for (const char *kernel : {"a", "b"}) {
      entries.push_back(makeEntry(kernel, i));
      entries.back().cycles = 100 * i;
    }
  Entry old = makeEntry("old", 1);
  old.generator = "0";
  entries.push_back(old);
  expectSuccess(database->insert(entries));
  EXPECT_EQ(expectValue(database->prune("1", 2)), 7);
  EXPECT_EQ(tilesOf(allEntries(*database)), (std::vector<int64_t>{1, 2, 1, 2}));
  EXPECT_EQ(expectValue(database->prune("1", 2)), 0);
  EXPECT_EQ(expectValue(database->prune("2", 2)), 4);
  EXPECT_TRUE(allEntries(*database).empty());
}

TEST(Database, WritesAllOrNothing) {
  TestFolder folder;
  auto database = openDatabase(folder.file());
  Entry wrong = makeEntry("b", 1);
  wrong.schedule.set("tile_m", 1000);
  Told why = told(database->insert({makeEntry("a", 1), wrong}));
  EXPECT_EQ(why.code, 1016u);
  EXPECT_NE(why.message.find("tile_m = 1000 is outside [1, 32]"), std::string::npos) << why.message;
  EXPECT_TRUE(allEntries(*database).empty());
  expectSuccess(database->insert(makeEntry("a", 1)));
}

TEST(Database, RefusesEntriesThatAreNone) {
  TestFolder folder;
  auto database = openDatabase(folder.file());
  auto refused = [&](auto change) {
    Entry entry = makeEntry("a", 1);
    change(entry);
    Told why = told(database->insert(entry));
    EXPECT_EQ(why.code, 1016u);
    return why.message;
  };
  EXPECT_EQ(refused([](Entry &entry) { entry.kernelClass = "poetry"; }), "there is no class of kernels 'poetry'");
  EXPECT_EQ(refused([](Entry &entry) { entry.schedule.set("frob", 1); }), "class 'contract' has no knob 'frob'");
  EXPECT_EQ(refused([](Entry &entry) { entry.kernel = ""; }), "the entry names no kernel");
  EXPECT_EQ(refused([](Entry &entry) { entry.target = "\xff"; }), "the entry's target is not UTF-8");
  EXPECT_EQ(refused([](Entry &entry) { entry.threads = 0; }), "the entry's threads are 0");
  EXPECT_EQ(refused([](Entry &entry) { entry.cycles = -1; }), "the entry's cycles are not a number of at least 0");
  EXPECT_EQ(refused([](Entry &entry) { entry.cycles = std::nan(""); }),
            "the entry's cycles are not a number of at least 0");
  EXPECT_EQ(refused([](Entry &entry) { entry.cycles = 0; }), "the entry says neither cycles nor nanoseconds");
  EXPECT_EQ(refused([](Entry &entry) { entry.samples = 3; }),
            "the entry has nanoseconds without samples, or samples without nanoseconds");
  EXPECT_EQ(refused([](Entry &entry) { entry.time = -1; }), "the entry's time is -1");
}

TEST(Database, IdsTellSchedulesApart) {
  Entry entry = makeEntry("a", 1), other = makeEntry("a", 2), longer = entry, shorter = entry;
  EXPECT_EQ(entry.id().size(), 64u);
  EXPECT_NE(entry.id(), other.id());
  EXPECT_EQ(entry.id(), measured(entry, 5).id());
  longer.machine = "m12", longer.generator = "3";
  shorter.machine = "m1", shorter.generator = "23";
  EXPECT_NE(longer.id(), shorter.id());
  // The order in which knobs were set does not matter.
  std::reverse(entry.schedule.knobs.begin(), entry.schedule.knobs.end());
  EXPECT_EQ(entry.id(), makeEntry("a", 1).id());
}

TEST(Database, SchedulesAreReadAsTheyArePrinted) {
  Schedule schedule = makeEntry("a", 7).schedule;
  EXPECT_EQ(parseSchedule(printSchedule(schedule)), schedule);
  EXPECT_EQ(parseSchedule(""), Schedule());
  for (const char *text : {"tile_m", "tile_m: ", "tile_m: x", ": 1", "a: 1, a: 2", "a: 1,b: 2", ", "})
    EXPECT_FALSE(parseSchedule(text)) << text;
  EXPECT_EQ(parseSizes(printSizes({1, 64, -1})), (std::vector<int64_t>{1, 64, -1}));
  EXPECT_FALSE(parseSizes("1 x"));
}

TEST(Database, RefusesFilesThatAreNone) {
  TestFolder folder;
  EXPECT_EQ(told(ScheduleDatabase::open(folder.file("missing"), Access::Read)).code, 1001u);
  EXPECT_EQ(told(ScheduleDatabase::open(folder.folder.string(), Access::Write)).code, 1001u);
  EXPECT_EQ(told(ScheduleDatabase::open(folder.file("no/where.db"), Access::Write)).code, 1014u);
  write(folder.file("text"), std::string(5000, 'x'));
  for (Access access : {Access::Read, Access::Write})
    EXPECT_EQ(told(ScheduleDatabase::open(folder.file("text"), access)).code, 1015u);
  EXPECT_EQ(read(folder.file("text")), std::string(5000, 'x'));
  runSql(folder.file("other"), "CREATE TABLE songs (name TEXT)");
  for (Access access : {Access::Read, Access::Write}) {
    Told why = told(ScheduleDatabase::open(folder.file("other"), access));
    EXPECT_EQ(why.code, 1015u);
    EXPECT_NE(why.message.find("not one of schedules"), std::string::npos) << why.message;
  }
}

TEST(Database, RefusesANewerVersion) {
  TestFolder folder;
  openDatabase(folder.file());
  runSql(folder.file(), "PRAGMA user_version = 99");
  for (Access access : {Access::Read, Access::Write}) {
    Told why = told(ScheduleDatabase::open(folder.file(), access));
    EXPECT_EQ(why.code, 1015u);
    EXPECT_NE(why.message.find("has version 99"), std::string::npos) << why.message;
  }
}

// Cut short, or with bytes that are others: an error with a code, or entries, and never a crash.
TEST(Database, SurvivesDamage) {
  TestFolder folder;
  {
    auto database = openDatabase(folder.file());
    std::vector<Entry> entries;
    for (int i = 1; i <= 32; ++i)
      entries.push_back(makeEntry("kernel " + std::string(200, char('a' + i % 26)), i));
    expectSuccess(database->insert(entries));
  }
  std::string whole = read(folder.file());
  int refused = 0;
  auto visit = [&](const std::string &text) {
    write(folder.file("damaged"), text);
    auto database = ScheduleDatabase::open(folder.file("damaged"), Access::Read);
    Told why = database ? told((*database)->visit({}, [](const Entry &) { return llvm::Error::success(); }))
                        : told(std::move(database));
    EXPECT_TRUE(why.code == 0 || why.code == 1015 || why.code == 1016 || why.code == 1001) << why.code << why.message;
    refused += why.code != 0;
    return why.code;
  };
  for (size_t length : {size_t(1), size_t(100), size_t(4096), whole.size() / 2, whole.size() - 4096})
    EXPECT_NE(visit(whole.substr(0, length)), 0u) << length;
  for (size_t at = 0; at < whole.size(); at += 397) {
    std::string changed = whole;
    for (size_t i = at; i < std::min(at + 40, whole.size()); ++i)
      changed[i] = char(0xa5);
    visit(changed);
  }
  EXPECT_GT(refused, 5 + 5);
}

TEST(Database, WaitsForOthersAndThenSaysSo) {
  TestFolder folder;
  auto first = openDatabase(folder.file());
  auto second = expectValue(ScheduleDatabase::open(folder.file(), Access::Write, std::chrono::milliseconds(50)));
  expectSuccess(first->write([&](ScheduleDatabase::Insert insert) {
    expectSuccess(insert(makeEntry("a", 1)));
    Told why = told(second->insert(makeEntry("b", 1)));
    EXPECT_EQ(why.code, 1014u);
    EXPECT_NE(why.message.find("locked by another program"), std::string::npos) << why.message;
    // Who reads neither waits nor sees what is not finished.
    EXPECT_TRUE(allEntries(*second).empty());
    return llvm::Error::success();
  }));
  expectSuccess(second->insert(makeEntry("b", 1)));
  EXPECT_EQ(allEntries(*first).size(), 2u);
}

TEST(Database, NoticesThatItsFileIsGone) {
  TestFolder folder;
  auto database = openDatabase(folder.file());
  expectSuccess(database->insert(makeEntry("a", 1)));
  std::filesystem::rename(folder.file(), folder.file("moved"));
  Told why = told(database->insert(makeEntry("b", 1)));
  EXPECT_EQ(why.code, 1014u);
  EXPECT_NE(why.message.find("was moved or removed"), std::string::npos) << why.message;
  // Nor is there an end without a word where the file is there but empty.
  std::filesystem::rename(folder.file("moved"), folder.file());
  expectSuccess(database->insert(makeEntry("b", 1)));
  database.reset();
  database = openDatabase(folder.file(), Access::Read);
  std::filesystem::resize_file(folder.file(), 0);
  EXPECT_NE(told(database->visit({}, [](const Entry &) { return llvm::Error::success(); })).code, 0u);
  EXPECT_NE(told(database->best(lookupOf(makeEntry("a", 1)))).code, 0u);
}

TEST(Database, IsLocatedByOptionEnvironmentAndUser) {
  unsetenv("FATHOM_DB");
  setenv("HOME", "/home/u", 1);
  unsetenv("XDG_DATA_HOME");
  EXPECT_EQ(locate("")->path, "/home/u/.local/share/fathom/schedules.db");
  EXPECT_FALSE(locate("")->isNamed);
  setenv("XDG_DATA_HOME", "relative", 1); // which the specification has ignored
  EXPECT_EQ(locate("")->path, "/home/u/.local/share/fathom/schedules.db");
  setenv("XDG_DATA_HOME", "/data", 1);
  EXPECT_EQ(locate("")->path, "/data/fathom/schedules.db");
  setenv("FATHOM_DB", "team.db", 1);
  EXPECT_EQ(locate("")->path, "team.db");
  EXPECT_EQ(locate("mine.db")->path, "mine.db");
  EXPECT_FALSE(locate("none"));
  setenv("FATHOM_DB", "none", 1);
  EXPECT_FALSE(locate(""));
  EXPECT_TRUE(locate("mine.db")->isNamed);
  unsetenv("FATHOM_DB");
  unsetenv("XDG_DATA_HOME");
  unsetenv("HOME");
  EXPECT_FALSE(locate(""));
}

TEST(Database, TheUsersFolderIsMade) {
  TestFolder folder;
  setenv("XDG_DATA_HOME", folder.file("data").c_str(), 1);
  unsetenv("FATHOM_DB");
  mlir::MLIRContext context;
  auto loc = mlir::UnknownLoc::get(&context);
  EXPECT_FALSE(openForCompile("", loc));
  EXPECT_TRUE(folder.names().empty());
  expectSuccess(expectValue(openToWrite(*locate("")))->insert(makeEntry("a", 1)));
  auto database = openForCompile("", loc);
  ASSERT_TRUE(database);
  EXPECT_EQ(allEntries(*database).size(), 1u);
}

TEST(Database, ACompilationGoesOnWithoutOne) {
  TestFolder folder;
  write(folder.file("damaged"), std::string(5000, 'x'));
  mlir::MLIRContext context;
  auto loc = mlir::UnknownLoc::get(&context);
  std::vector<std::string> warnings;
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diagnostic) {
    EXPECT_EQ(diagnostic.getSeverity(), mlir::DiagnosticSeverity::Warning);
    warnings.push_back(diagnostic.str());
    return mlir::success();
  });
  EXPECT_FALSE(openForCompile("none", loc));
  EXPECT_TRUE(warnings.empty());
  EXPECT_FALSE(openForCompile(folder.file("damaged"), loc));
  EXPECT_FALSE(openForCompile(folder.file("missing"), loc));
  ASSERT_EQ(warnings.size(), 2u);
  EXPECT_EQ(warnings[0].substr(0, 8), "[F1015] ");
  EXPECT_EQ(warnings[1].substr(0, 8), "[F1001] ");
}

} // namespace
