// Schedules that come with Fathom: for the networks of models/ and the machines that somebody tuned them for
// (bench/tune/zoo_database.py).
#pragma once

#include "compiler/tune/database/ScheduleDatabase.h"

namespace fathom::tune {

// What names it where a file may be named.
inline constexpr llvm::StringLiteral zooName = "zoo";

// A copy of its own for everybody who asks.
llvm::Expected<std::unique_ptr<ScheduleDatabase>> openZoo();

} // namespace fathom::tune
