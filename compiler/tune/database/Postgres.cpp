// PostgreSQL: a server that a team shares. Our tables are in a schema of their own, so that a database may have others.
// Nothing is waited for without end: the server may be stopped, or the way to it be cut.
#include "compiler/support/Cancellation.h"
#include "compiler/support/Failure.h"
#include "compiler/tune/database/Connection.h"
#include "compiler/tune/database/Libpq.h"
#include "compiler/tune/database/ServerAddress.h"
#include "llvm/ADT/ScopeExit.h"
#include <poll.h>

using namespace llvm;

namespace fathom::tune {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds lookEvery(100); // whether the work is cancelled
// The types of parameters, as pg_type has them. Said here, the server does not guess.
constexpr Oid bigint = 20, text = 25, doublePrecision = 701;
constexpr int asText = 0, asBytes = 1;

// One line of what the library says in several.
std::string oneLine(const char *message) {
  std::string line = StringRef(message ? message : "").trim().str();
  for (size_t at; (at = line.find_first_of("\n\t")) != std::string::npos;)
    line.replace(at, 1, line[at] == '\n' ? "; " : "");
  return line;
}

class PostgresRow final : public Row {
public:
  PostgresRow(const Libpq &pq, const PGresult *result) : pq(pq), result(result) {}
  int64_t integer(int column) const override {
    int64_t value = 0;
    return text(column).getAsInteger(10, value) ? 0 : value;
  }
  double number(int column) const override { return strtod(pq.PQgetvalue(result, 0, column), nullptr); }
  StringRef text(int column) const override {
    return StringRef(pq.PQgetvalue(result, 0, column), size_t(pq.PQgetlength(result, 0, column)));
  }

private:
  const Libpq &pq;
  const PGresult *result;
};

class Postgres final : public Connection {
public:
  Postgres(const Libpq &pq, StringRef address, Access access, std::chrono::milliseconds patience)
      : pq(pq), address(address), shown(withoutPassword(address)), access(access), patience(patience) {}
  ~Postgres() override { pq.PQfinish(server); }

  Error open();

  StringRef name() const override { return shown; }
  Error execute(StringRef sql, ArrayRef<Value> values, function_ref<Error(const Row &)> take) override;
  bool isLost() const override { return isSilent || pq.PQstatus(server) != CONNECTION_OK; }
  Error reopen() override;
  Error begin() override;
  Expected<int64_t> schemaVersion() override;
  Error setSchemaVersion(int64_t version) override;
  std::string defining(StringRef statement) const override;

private:
  Error checkAddress() const;
  Error run(const Twine &sql) { return execute(sql.str(), {}, {}); }
  Expected<int64_t> ask(StringRef question);
  Error send(StringRef sql, ArrayRef<Value> values);
  // Waits until there is something to take.
  Error wait();
  Error unreachable(const Twine &how, const Twine &hint = "") const {
    return fail(access == Access::Read ? ErrorCode::FileUnreadable : ErrorCode::FileUnwritable,
                "the database '" + shown + "' " + how, hint);
  }
  Error failure(const PGresult *result) const;

  const Libpq &pq;
  std::string address, shown;
  Access access;
  std::chrono::milliseconds patience;
  PGconn *server = nullptr;
  bool isSilent = false; // it did not answer; an answer that comes late is to another question
};

Error Postgres::checkAddress() const {
  char *problem = nullptr;
  PQconninfoOption *parts = pq.PQconninfoParse(address.c_str(), &problem);
  scope_exit release([&] {
    pq.PQconninfoFree(parts);
    pq.PQfreemem(problem);
  });
  if (parts)
    return Error::success();
  // Behind the colon is the address, perhaps with a password.
  std::string why = StringRef(oneLine(problem)).split(": \"").first.str();
  return fail(ErrorCode::BadDatabase, "'" + shown + "' is no address of a database: " + why,
              "it is postgresql://[USER@]HOST[:PORT]/DATABASE; characters with a meaning are written as %2F");
}

Error Postgres::open() {
  if (Error error = checkAddress())
    return error;
  // What the address says of the first ones counts.
  constexpr const char *names[] = {"connect_timeout", "tcp_user_timeout", "fallback_application_name",
                                   "dbname",          "client_encoding",  nullptr};
  const char *values[] = {"10", "30000", "fathom", address.c_str(), "UTF8", nullptr};
  server = pq.PQconnectdbParams(names, values, /*expand_dbname=*/1);
  if (pq.PQstatus(server) != CONNECTION_OK)
    return unreachable("cannot be reached: " + oneLine(pq.PQerrorMessage(server)),
                       "`psql` with the same address says more; `--db none` goes without one");
  pq.PQsetNoticeProcessor(server, [](void *, const char *) {}, nullptr);
  if (Error error = run("SET lock_timeout = " + Twine(patience.count())))
    return error;
  if (Error error = run("SET search_path = fathom"))
    return error;
  if (access == Access::Read)
    return run("SET default_transaction_read_only = on");
  auto isThere = [&] { return ask("SELECT count(*) FROM pg_namespace WHERE nspname = 'fathom'"); };
  Expected<int64_t> there = isThere();
  if (!there || *there)
    return there.takeError();
  return transaction([&]() -> Error {
    // Somebody else may have been faster.
    Expected<int64_t> there = isThere();
    if (!there || *there)
      return there.takeError();
    return run("CREATE SCHEMA fathom");
  });
}

Error Postgres::reopen() {
  pq.PQfinish(server);
  server = nullptr, isSilent = false;
  return open();
}

Error Postgres::send(StringRef sql, ArrayRef<Value> values) {
  SmallVector<std::string> spelled;
  SmallVector<Oid> types;
  SmallVector<int> lengths, formats;
  for (const Value &value : values) {
    if (const auto *integer = std::get_if<int64_t>(&value)) {
      types.push_back(bigint);
      spelled.push_back(std::to_string(*integer));
    } else if (const auto *number = std::get_if<double>(&value)) {
      types.push_back(doublePrecision);
      raw_string_ostream(spelled.emplace_back()) << llvm::format("%.17g", *number);
    } else {
      types.push_back(text);
      spelled.push_back(std::get<StringRef>(value).str());
    }
    // As text it would end at the first zero byte.
    formats.push_back(types.back() == text ? asBytes : asText);
    lengths.push_back(int(spelled.back().size()));
  }
  SmallVector<const char *> pointers;
  for (const std::string &value : spelled)
    pointers.push_back(value.c_str());
  if (!pq.PQsendQueryParams(server, sql.str().c_str(), int(values.size()), types.data(), pointers.data(),
                            lengths.data(), formats.data(), asText))
    return failure(nullptr);
  pq.PQsetSingleRowMode(server);
  return Error::success();
}

Error Postgres::wait() {
  // A lock may take as long as we are patient, and then the server says so.
  auto limit = patience + std::min<std::chrono::milliseconds>(patience, std::chrono::seconds(5));
  for (auto end = Clock::now() + limit; pq.PQisBusy(server);) {
    pollfd socket{pq.PQsocket(server), POLLIN, 0};
    if (poll(&socket, 1, int(lookEvery.count())) > 0 && !pq.PQconsumeInput(server))
      return failure(nullptr);
    if (Clock::now() > end || isCancelled()) {
      isSilent = true;
      return isCancelled() ? unreachable("was not waited for: cancelled")
                           : unreachable("does not answer for " + Twine(limit.count()) + " ms");
    }
  }
  return Error::success();
}

Error Postgres::execute(StringRef sql, ArrayRef<Value> values, function_ref<Error(const Row &)> take) {
  if (isSilent)
    return unreachable("does not answer");
  if (Error error = send(sql, values))
    return error;
  // All of an answer is taken, whatever becomes of it: the next question comes after it.
  Error problem = Error::success();
  for (;;) {
    if (Error error = wait())
      return joinErrors(std::move(problem), std::move(error));
    PGresult *result = pq.PQgetResult(server);
    if (!result)
      return problem;
    scope_exit clear([&] { pq.PQclear(result); });
    ExecStatusType status = pq.PQresultStatus(result);
    if (problem || status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK)
      continue;
    if (status != PGRES_SINGLE_TUPLE)
      problem = failure(result);
    else if (take)
      problem = take(PostgresRow(pq, result));
  }
}

// What an answer means that is none; without one, what became of the connection.
Error Postgres::failure(const PGresult *result) const {
  auto field = [&](int which) { return result ? oneLine(pq.PQresultErrorField(result, which)) : ""; };
  std::string state = field(PG_DIAG_SQLSTATE), message = field(PG_DIAG_MESSAGE_PRIMARY);
  StringRef kind = StringRef(state).take_front(2);
  // Of a server that is stopped, the last words are its own.
  if (state.empty() || kind == "08" || kind == "57")
    return unreachable("went away: " + (message.empty() ? oneLine(pq.PQerrorMessage(server)) : message));
  if (state == "55P03")
    return unreachable("is locked by another program for longer than " + Twine(patience.count()) + " ms",
                       "wait until it is done, or name another one with --db");
  if (state == "42501" || state == "25006")
    return unreachable("may not be " + Twine(access == Access::Read ? "read: " : "written: ") + message,
                       "the owner of the database can make the schema `fathom` and grant rights on what is in it");
  if (kind == "53")
    return unreachable("has no room: " + message);
  return fail(ErrorCode::BadDatabase, "'" + shown + "' cannot be used as a database of schedules: " + message,
              "it is of another program, or damaged; name another database with --db");
}

Expected<int64_t> Postgres::ask(StringRef question) {
  int64_t answer = 0;
  auto take = [&](const Row &row) { return answer = row.integer(0), Error::success(); };
  if (Error error = execute(question, {}, take))
    return std::move(error);
  return answer;
}

Error Postgres::begin() {
  if (Error error = run("BEGIN"))
    return error;
  // Until its end: "Fath", as files of SQLite are marked.
  Error error = run("SELECT pg_advisory_xact_lock(1180791912)");
  if (error)
    consumeError(run("ROLLBACK"));
  return error;
}

Expected<int64_t> Postgres::schemaVersion() {
  Expected<int64_t> tables = ask("SELECT count(*) FROM pg_tables WHERE schemaname = 'fathom'");
  if (!tables || !*tables)
    return tables;
  Expected<int64_t> marks =
      ask("SELECT count(*) FROM pg_tables WHERE schemaname = 'fathom' AND tablename = 'schedules_version'");
  if (!marks)
    return marks;
  if (!*marks)
    return fail(ErrorCode::BadDatabase, "the schema 'fathom' of the database '" + shown + "' is not one of schedules",
                "name another database with --db");
  return ask("SELECT number FROM fathom.schedules_version");
}

Error Postgres::setSchemaVersion(int64_t version) {
  if (Error error = run("CREATE TABLE IF NOT EXISTS schedules_version (number BIGINT NOT NULL)"))
    return error;
  if (Error error = run("DELETE FROM fathom.schedules_version"))
    return error;
  return execute("INSERT INTO schedules_version VALUES ($1)", Value(version), {});
}

std::string Postgres::defining(StringRef statement) const {
  std::string text;
  for (StringRef rest = statement; !rest.empty();) {
    size_t at = rest.find(" TEXT");
    text += rest.substr(0, at);
    if (at == StringRef::npos)
      break;
    text += " TEXT COLLATE \"C\"";
    rest = rest.substr(at + StringRef(" TEXT").size());
  }
  return text;
}

} // namespace

Expected<std::unique_ptr<Connection>> openPostgres(StringRef address, Access access,
                                                   std::chrono::milliseconds patience) {
  Expected<const Libpq &> pq = loadLibpq();
  if (!pq)
    return fail(access == Access::Read ? ErrorCode::FileUnreadable : ErrorCode::FileUnwritable,
                "a database of PostgreSQL needs its client library: " + toString(pq.takeError()),
                "install libpq5 (Debian, Ubuntu), postgresql-libs (Arch) or libpq (Fedora)");
  auto connection = std::make_unique<Postgres>(*pq, address, access, patience);
  if (Error error = connection->open())
    return std::move(error);
  return connection;
}

} // namespace fathom::tune
