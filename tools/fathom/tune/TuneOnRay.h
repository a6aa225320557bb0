// fathom tune --ray: the kernels are tuned by the machines of a cluster.
#pragma once

#include "tools/fathom/Commands.h"

namespace fathom {

// Hands over to fathom/farm.py, as Ray's client is a Python package. Gives its exit code.
llvm::Expected<int> tuneOnRay(const Arguments &arguments);

} // namespace fathom
