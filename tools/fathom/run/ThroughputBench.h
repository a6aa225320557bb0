// fathom bench --throughput: how many runs a second a machine gives when several go on at the same time.
#pragma once

#include "tools/fathom/Commands.h"
#include "tools/fathom/run/PreparedRun.h"

namespace fathom {

// Options that this measurement has no use for are a usage error, as are its own without it.
llvm::Error checkThroughputOptions(const OptionValues &options);

// `name` is what the user calls the model. Gives the exit code.
llvm::Expected<int> benchThroughput(PreparedRun &prepared, llvm::StringRef name, llvm::StringRef target,
                                    const OptionValues &options);

} // namespace fathom
