// The tables of a database of schedules, version by version.
#pragma once

#include "compiler/tune/database/Connection.h"

namespace fathom::tune {

// The statements that lead from one version to the next.
using Migration = llvm::ArrayRef<llvm::StringLiteral>;

// All of them: the first makes the tables, and what is written here once is never changed.
llvm::ArrayRef<Migration> migrations();

// Brings a database to the newest version. One of a version that is newer still is an error.
llvm::Error migrate(Connection &connection, llvm::ArrayRef<Migration> steps = migrations());

} // namespace fathom::tune
