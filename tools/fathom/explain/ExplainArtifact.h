// What a compiled model says of its kernels and, where it is run, how long each takes.
#pragma once

#include "runtime/fathom_rt.h"
#include "tools/fathom/Commands.h"
#include "tools/fathom/machine/MachinePeak.h"
#include "tools/fathom/run/SizeExpression.h"

namespace fathom {

// What a run tells about one kernel.
struct Measured {
  double seconds = 0;
  int64_t launches = 0;
};

struct Run {
  std::vector<Measured> kernels;
  std::vector<fathom_profile_entry> fastest; // the launches of the run that took least
  Sizes sizes;
  MachinePeak peak;
  int threads = 1;
};

struct Explained {
  llvm::json::Object manifest;
  llvm::json::Array kernels;
  std::optional<Run> run;
};

llvm::Expected<Explained> explainArtifact(llvm::StringRef path, const OptionValues &options);

} // namespace fathom
