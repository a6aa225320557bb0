// Databases of older versions. The statements here are what older versions wrote and stay as they are.
#include "compiler/tune/database/Schema.h"
#include "tests/unit/tune/TestDatabase.h"
#include <sqlite3.h>

using namespace fathom;
using namespace fathom::tune;

namespace {

// What marks a file as one of schedules.
constexpr const char *applicationId = "PRAGMA application_id = 1180791912;";

void runSql(const std::string &path, const std::string &sql) {
  sqlite3 *database;
  ASSERT_EQ(sqlite3_open(path.c_str(), &database), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(database);
  sqlite3_close(database);
}

std::unique_ptr<Connection> connect(const TestFolder &folder) {
  return expectValue(openSqlite(folder.file(), Access::Write, std::chrono::seconds(5)));
}

int64_t ask(Connection &connection, llvm::StringRef question) {
  int64_t answer = -1;
  expectSuccess(connection.execute(question, {}, [&](const Row &row) {
    answer = row.integer(0);
    return llvm::Error::success();
  }));
  return answer;
}

constexpr llvm::StringLiteral makeTable[] = {"CREATE TABLE t (a BIGINT NOT NULL)"},
                              fillColumn[] = {"ALTER TABLE t ADD COLUMN b BIGINT NOT NULL DEFAULT 0",
                                              "UPDATE t SET b = 2 * a"},
                              breaks[] = {"UPDATE t SET b = 7", "UPDATE nothing SET b = 7"};
constexpr Migration one[] = {makeTable}, two[] = {makeTable, fillColumn}, three[] = {makeTable, fillColumn, breaks};

TEST(Migration, AFileWithoutTablesIsVersionZero) {
  TestFolder folder;
  runSql(folder.file(), applicationId);
  expectSuccess(openDatabase(folder.file())->insert(makeEntry("a", 1)));
  TestFolder empty; // of no bytes, as another process has just made it
  fclose(fopen(empty.file().c_str(), "w"));
  EXPECT_TRUE(allEntries(*openDatabase(empty.file(), Access::Read)).empty());
}

TEST(Migration, TakesTheStepsThatAreMissing) {
  TestFolder folder;
  runSql(folder.file(), std::string(applicationId) + "PRAGMA user_version = 1; CREATE TABLE t (a BIGINT NOT NULL);"
                                                     "INSERT INTO t VALUES (21)");
  auto connection = connect(folder);
  expectSuccess(migrate(*connection, two));
  EXPECT_EQ(ask(*connection, "SELECT b FROM t"), 42);
  EXPECT_EQ(expectValue(connection->schemaVersion()), 2);
  expectSuccess(migrate(*connection, two));
  EXPECT_EQ(ask(*connection, "SELECT count(*) FROM t"), 1);
}

TEST(Migration, AStepThatFailsChangesNothing) {
  TestFolder folder;
  auto connection = connect(folder);
  expectSuccess(migrate(*connection, one));
  expectSuccess(connection->execute("INSERT INTO t VALUES (21)"));
  EXPECT_EQ(told(migrate(*connection, three)).code, 1015u);
  EXPECT_EQ(expectValue(connection->schemaVersion()), 1);
  EXPECT_EQ(ask(*connection, "SELECT count(*) FROM pragma_table_info('t')"), 1);
  expectSuccess(migrate(*connection, two));
}

TEST(Migration, RefusesNewerVersions) {
  TestFolder folder;
  auto connection = connect(folder);
  expectSuccess(migrate(*connection, two));
  EXPECT_EQ(told(migrate(*connection, one)).code, 1015u);
}

TEST(Migration, ReadsVersionOne) {
  TestFolder folder;
  Entry entry = makeEntry("a", 4);
  runSql(folder.file(),
         std::string(applicationId) +
             "PRAGMA user_version = 1;"
             "CREATE TABLE kernels (hash TEXT PRIMARY KEY NOT NULL, text TEXT NOT NULL);"
             "CREATE TABLE entries (id TEXT PRIMARY KEY NOT NULL, kernel TEXT NOT NULL REFERENCES kernels (hash),"
             "class TEXT NOT NULL, sizes TEXT NOT NULL, target TEXT NOT NULL, machine TEXT NOT NULL, generator TEXT "
             "NOT NULL, fp TEXT NOT NULL, threads BIGINT NOT NULL, schedule TEXT NOT NULL, found TEXT NOT NULL, cycles "
             "DOUBLE PRECISION NOT NULL, samples BIGINT NOT NULL, nanoseconds DOUBLE PRECISION NOT NULL, spread DOUBLE "
             "PRECISION NOT NULL, time BIGINT NOT NULL, provenance TEXT NOT NULL);"
             "INSERT INTO kernels VALUES ('ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb', 'a');"
             "INSERT INTO entries VALUES ('" +
             entry.id() +
             "', 'ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb', 'contract', '1 64 56', "
             "'aarch64-unknown-linux-gnu:neoverse-v1', 'm1', '1', 'fast', 16, '" +
             printSchedule(entry.schedule) + "', 'static', 1000, 0, 0, 0, 1700000000, 'made up');");
  EXPECT_EQ(allEntries(*openDatabase(folder.file(), Access::Read)), std::vector{entry});
  EXPECT_EQ(expectValue(openDatabase(folder.file())->best(lookupOf(entry))), entry);
}

} // namespace
