// The questions that are asked of a database of schedules, in SQL.
#include "compiler/tune/database/ScheduleDatabase.h"

#include "compiler/support/Cancellation.h"
#include "compiler/support/Failure.h"
#include "compiler/tune/database/Schema.h"
#include "compiler/tune/database/ServerAddress.h"

using namespace llvm;

namespace fathom::tune {

// The columns in the order in which entries are read and written, behind their ids.
static constexpr StringLiteral columns = "kernel, class, sizes, target, machine, generator, fp, threads, schedule, "
                                         "found, cycles, samples, nanoseconds, spread, time, provenance";
// Entries of one kernel from the best on: a measured time says more than an estimate, one for all threads more than one
// for a few, and the draft's cycles do not compare with others'. Ids make it an order of all.
static constexpr StringLiteral bestFirst =
    "CASE WHEN samples > 0 THEN 0 ELSE 1 END, threads DESC, CASE WHEN found = 'draft' THEN 1 ELSE 0 END, "
    "CASE WHEN samples > 0 THEN nanoseconds ELSE cycles END, id";

Expected<std::unique_ptr<ScheduleDatabase>> ScheduleDatabase::open(StringRef name, Access access,
                                                                   std::chrono::milliseconds patience) {
  auto connect = [&](Access access) {
    return isServerAddress(name) ? openPostgres(name, access, patience) : openSqlite(name, access, patience);
  };
  auto connection = connect(access);
  if (!connection)
    return connection.takeError();
  if (access == Access::Read) {
    Expected<int64_t> version = (*connection)->schemaVersion();
    if (!version)
      return version.takeError();
    // Who only reads cannot bring it to the newest version.
    if (*version < int64_t(migrations().size()))
      if (connection = connect(Access::Write); !connection)
        return connection.takeError();
  }
  if (Error error = migrate(**connection))
    return std::move(error);
  return std::unique_ptr<ScheduleDatabase>(new ScheduleDatabase(std::move(*connection)));
}

Expected<std::unique_ptr<ScheduleDatabase>> ScheduleDatabase::inMemory(StringRef name) {
  auto connection = openMemory(name);
  if (!connection)
    return connection.takeError();
  if (Error error = migrate(**connection))
    return std::move(error);
  return std::unique_ptr<ScheduleDatabase>(new ScheduleDatabase(std::move(*connection)));
}

static Expected<Entry> readEntry(const Row &row, StringRef database) {
  Entry entry;
  int column = 0;
  auto text = [&] { return row.text(column++).str(); };
  entry.kernel = text();
  entry.kernelClass = text();
  auto sizes = parseSizes(row.text(column++));
  entry.target = text();
  entry.machine = text();
  entry.generator = text();
  std::string fp = text();
  entry.fp = parseFloatMode(fp);
  entry.threads = row.integer(column++);
  auto schedule = parseSchedule(row.text(column++));
  auto found = parseFound(row.text(column++));
  entry.cycles = row.number(column++);
  entry.samples = row.integer(column++);
  entry.nanoseconds = row.number(column++);
  entry.spread = row.number(column++);
  entry.time = row.integer(column++);
  entry.provenance = text();
  auto wrong = [&](const Twine &message) {
    return fail(ErrorCode::BadEntry, "entry " + row.text(column).take_front(12) + " of the database '" + database +
                                         "' is damaged: " + message);
  };
  if (!sizes || !schedule || !found || name(entry.fp) != fp)
    return wrong("its " +
                 Twine(!sizes      ? "sizes"
                       : !schedule ? "schedule"
                       : !found    ? "finder"
                                   : "floating-point mode") +
                 " cannot be read");
  entry.sizes = std::move(*sizes);
  entry.schedule = std::move(*schedule);
  entry.found = *found;
  if (Error error = checkForm(entry))
    return wrong(toString(std::move(error)));
  return entry;
}

Error ScheduleDatabase::select(StringRef conditions, ArrayRef<Value> values, function_ref<Error(const Entry &)> body) {
  std::string sql = "SELECT text" + columns.drop_front(StringRef("kernel").size()).str() +
                    ", id FROM entries JOIN kernels ON hash = kernel " + conditions.str();
  return connection->execute(sql, values, [&](const Row &row) -> Error {
    Expected<Entry> entry = readEntry(row, name());
    return entry ? body(*entry) : entry.takeError();
  });
}

Expected<std::optional<Entry>> ScheduleDatabase::best(const Lookup &lookup) {
  std::string hash = hashOf(lookup.kernel);
  std::optional<Entry> best;
  std::string sql = "WHERE kernel = $1 AND target = $2 AND generator = $3 AND fp = $4 AND ($5 = '' OR class = $5) "
                    "ORDER BY CASE WHEN machine = $6 THEN 0 ELSE 1 END, CASE WHEN samples > 0 THEN 0 ELSE 1 END, "
                    "CASE WHEN threads = $7 THEN 0 ELSE 1 END, " +
                    bestFirst.str() + " LIMIT 1";
  Value values[] = {StringRef(hash),         StringRef(lookup.target),      StringRef(lookup.generator),
                    fathom::name(lookup.fp), StringRef(lookup.kernelClass), StringRef(lookup.machine),
                    lookup.threads};
  if (Error error = select(sql, values, [&](const Entry &entry) { return best = entry, Error::success(); }))
    return std::move(error);
  return best;
}

Error ScheduleDatabase::visit(const Filter &filter, function_ref<Error(const Entry &)> body) {
  std::string sql = "WHERE ($1 = '' OR class = $1) AND ($2 = '' OR target = $2) AND ($3 = '' OR generator = $3) AND "
                    "($4 = '' OR fp = $4) ORDER BY class, kernel, target, machine, generator, fp, " +
                    bestFirst.str();
  Value values[] = {StringRef(filter.kernelClass), StringRef(filter.target), StringRef(filter.generator),
                    StringRef(filter.fp)};
  return select(sql, values, body);
}

Expected<std::vector<Entry>> ScheduleDatabase::find(StringRef idStart) {
  std::vector<Entry> found;
  auto take = [&](const Entry &entry) { return found.push_back(entry), Error::success(); };
  if (Error error = select("WHERE substr(id, 1, length($1)) = $1 ORDER BY id", Value(idStart), take))
    return std::move(error);
  return found;
}

Error ScheduleDatabase::insertOne(const Entry &entry) {
  std::string id = entry.id(), kernel = hashOf(entry.kernel), sizes = printSizes(entry.sizes),
              schedule = printSchedule(entry.schedule);
  Value kernelValues[] = {StringRef(kernel), StringRef(entry.kernel)};
  if (Error error =
          connection->execute("INSERT INTO kernels VALUES ($1, $2) ON CONFLICT (hash) DO NOTHING", kernelValues))
    return error;
  static const std::string sql = [] {
    std::string list;
    for (int i = 1; i <= 17; ++i)
      list += (i == 1 ? "$" : ", $") + std::to_string(i);
    // What is behind the samples and the time decides nothing that matters, but always the same.
    constexpr StringLiteral ranked[] = {"samples", "time",  "nanoseconds", "cycles",
                                        "spread",  "found", "provenance",  "sizes"};
    std::string set, fresh, old;
    for (StringRef column : ranked) {
      StringRef comma = set.empty() ? "" : ", ";
      set += (comma + column + " = excluded." + column).str();
      fresh += (comma + "excluded." + column).str();
      old += (comma + "entries." + column).str();
    }
    return "INSERT INTO entries (id, " + columns.str() + ") VALUES (" + list + ") ON CONFLICT (id) DO UPDATE SET " +
           set + " WHERE (" + fresh + ") > (" + old + ")";
  }();
  Value values[] = {StringRef(id),
                    StringRef(kernel),
                    StringRef(entry.kernelClass),
                    StringRef(sizes),
                    StringRef(entry.target),
                    StringRef(entry.machine),
                    StringRef(entry.generator),
                    fathom::name(entry.fp),
                    entry.threads,
                    StringRef(schedule),
                    tune::name(entry.found),
                    entry.cycles,
                    entry.samples,
                    entry.nanoseconds,
                    entry.spread,
                    entry.time,
                    StringRef(entry.provenance)};
  return connection->execute(sql, values);
}

Error ScheduleDatabase::write(function_ref<Error(Insert)> body) {
  return connection->transaction([&] {
    return body([&](const Entry &entry) -> Error {
      if (Error error = checkEntry(entry))
        return error;
      return insertOne(entry);
    });
  });
}

Error ScheduleDatabase::insert(ArrayRef<Entry> entries) {
  Error error = insertAll(entries);
  if (!error || !connection->isLost() || wasReopened || isCancelled())
    return error;
  wasReopened = true;
  std::string why = toString(std::move(error));
  if (onReopen)
    onReopen(why);
  if (Error again = connection->reopen())
    return again;
  return insertAll(entries);
}

Error ScheduleDatabase::insertAll(ArrayRef<Entry> entries) {
  return write([&](Insert insert) -> Error {
    for (const Entry &entry : entries)
      if (Error error = insert(entry))
        return error;
    return Error::success();
  });
}

Expected<int64_t> ScheduleDatabase::count() {
  int64_t number = 0;
  auto take = [&](const Row &row) { return number = row.integer(0), Error::success(); };
  if (Error error = connection->execute("SELECT count(*) FROM entries", {}, take))
    return std::move(error);
  return number;
}

Expected<int64_t> ScheduleDatabase::prune(StringRef generator, int64_t keep) {
  int64_t removed = 0;
  Error error = connection->transaction([&]() -> Error {
    Expected<int64_t> before = count();
    if (!before)
      return before.takeError();
    if (Error error = connection->execute("DELETE FROM entries WHERE generator <> $1", Value(generator)))
      return error;
    std::string worse = "DELETE FROM entries WHERE id IN (SELECT id FROM (SELECT id, row_number() OVER "
                        "(PARTITION BY kernel, class, target, machine, fp, threads ORDER BY " +
                        bestFirst.str() + ") AS place FROM entries) AS ranked WHERE place > $1)";
    if (Error error = connection->execute(worse, Value(keep)))
      return error;
    if (Error error = connection->execute("DELETE FROM kernels WHERE hash NOT IN (SELECT kernel FROM entries)"))
      return error;
    Expected<int64_t> after = count();
    if (!after)
      return after.takeError();
    removed = *before - *after;
    return Error::success();
  });
  if (error)
    return std::move(error);
  return removed;
}

} // namespace fathom::tune
