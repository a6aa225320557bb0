// The tables, and the way from those of an older version.
#include "compiler/tune/database/Schema.h"

#include "compiler/support/Failure.h"

using namespace llvm;

namespace fathom::tune {

// A kernel's text is long, and has many schedules: it is stored once. Ids and hashes are computed from what they stand
// for (Entry.h), so that they are the same in every database.
static constexpr StringLiteral first[] = {
    "CREATE TABLE kernels (hash TEXT PRIMARY KEY NOT NULL, text TEXT NOT NULL)",
    "CREATE TABLE entries (id TEXT PRIMARY KEY NOT NULL, kernel TEXT NOT NULL REFERENCES kernels (hash), "
    "class TEXT NOT NULL, sizes TEXT NOT NULL, target TEXT NOT NULL, machine TEXT NOT NULL, generator TEXT NOT NULL, "
    "fp TEXT NOT NULL, threads BIGINT NOT NULL, schedule TEXT NOT NULL, found TEXT NOT NULL, "
    "cycles DOUBLE PRECISION NOT NULL, samples BIGINT NOT NULL, nanoseconds DOUBLE PRECISION NOT NULL, "
    "spread DOUBLE PRECISION NOT NULL, time BIGINT NOT NULL, provenance TEXT NOT NULL)",
    "CREATE INDEX entries_of_kernel ON entries (kernel, target, generator)",
    "CREATE INDEX entries_of_class ON entries (class, target)",
};

static constexpr Migration allSteps[] = {first};

ArrayRef<Migration> migrations() { return allSteps; }

static Expected<int64_t> knownVersion(Connection &connection, int64_t newest) {
  Expected<int64_t> version = connection.schemaVersion();
  if (version && (*version < 0 || *version > newest))
    return fail(ErrorCode::BadDatabase,
                "the database '" + connection.name() + "' has version " + Twine(*version) +
                    ", and this fathom knows those up to " + Twine(newest),
                "use the newer fathom that wrote it");
  return version;
}

Error migrate(Connection &connection, ArrayRef<Migration> steps) {
  int64_t newest = int64_t(steps.size());
  Expected<int64_t> version = knownVersion(connection, newest);
  if (!version)
    return version.takeError();
  if (*version == newest)
    return Error::success();
  return connection.transaction([&]() -> Error {
    // Somebody else may have been faster.
    Expected<int64_t> version = knownVersion(connection, newest);
    if (!version)
      return version.takeError();
    for (Migration migration : steps.drop_front(*version))
      for (StringRef statement : migration)
        if (Error error = connection.execute(connection.defining(statement)))
          return error;
    return connection.setSchemaVersion(newest);
  });
}

} // namespace fathom::tune
