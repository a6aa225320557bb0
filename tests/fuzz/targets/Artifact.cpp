// Any bytes as an artifact, up to the system's loader: what is refused before it, and what `inspect` reads without it.
// (Loading an artifact is running it, so no damaged one is loaded here.)
#include "Target.h"

#include "runtime/ArtifactFile.h"
#include "runtime/fathom_rt.h"
#include "tools/fathom/run/ArtifactReader.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fathom::fuzz::MemoryFile file(data, size);
  bool isSealed;
  if (fathom_status *status = fathom::checkArtifactFile(file.path(), isSealed))
    fathom_status_free(status);
  auto summary = fathom::readArtifact(file.path());
  if (!summary)
    llvm::consumeError(summary.takeError());
  return 0;
}
