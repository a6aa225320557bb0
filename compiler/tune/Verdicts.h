// Which schedule each kernel keeps in a model, where that was measured: the times of a kernel apart from its model are
// not those in it, with what the kernel before left in the caches.
#pragma once

#include "compiler/tune/Tune.h"

namespace fathom::tune {

// What stands for the kernels of a program, in their order, in the key of a verdict. Another model with some of the
// same kernels has verdicts of its own.
std::string modelHash(llvm::ArrayRef<Tuned> kernels);
// The key of a kernel's verdict in a database.
std::string keyInModel(llvm::StringRef modelHash, llvm::StringRef kernel);

// Keeps for all kernels that were compared in place which schedule they have from then on.
llvm::Error keepVerdicts(ScheduleDatabase &database, llvm::ArrayRef<Tuned> kernels, const Target &target,
                         const Request &request);

} // namespace fathom::tune
