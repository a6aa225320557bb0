// The artifact as a file: what can be told to be wrong with it before and while the system's loader maps it.
#ifndef FATHOM_RUNTIME_ARTIFACTFILE_H
#define FATHOM_RUNTIME_ARTIFACTFILE_H

#include "abi.h"
#include "fathom_rt.h"

namespace fathom {

// Checks that Path is a whole ELF shared object for this machine, and its size and the checksum of headers and tables
// where it ends with them: `IsSealed`. The system's loader would crash or give riddles.
[[nodiscard]] fathom_status *checkArtifactFile(const char *Path, bool &IsSealed);

[[nodiscard]] fathom_status *notSealed(const char *Path);

// Maps a checked file and finds its table, whose magic and version are then right. The caller closes Handle with
// dlclose.
[[nodiscard]] fathom_status *openArtifact(const char *Path, void **Handle, const fathom_artifact **Artifact);

void closeArtifact(void *Handle);

// Refuses an artifact that needs CPU features which are not there.
[[nodiscard]] fathom_status *checkCpuFeatures(const char *Path, const fathom_artifact &Artifact);

// Refuses a table that contradicts itself, so that no later code needs to.
[[nodiscard]] fathom_status *checkTable(const char *Path, const fathom_artifact &Artifact);

} // namespace fathom

#endif
