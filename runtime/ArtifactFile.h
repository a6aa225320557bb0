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

// Refuses a table that contradicts itself, so that no later code needs to.
[[nodiscard]] fathom_status *checkTable(const char *Path, const fathom_artifact &Artifact);

// Takes the first of the artifact's variants whose CPU features are all there; `Name` is its CPU's, or empty where the
// artifact is for one CPU alone. An error where none can run here.
[[nodiscard]] fathom_status *takeVariant(const char *Path, const fathom_artifact **Artifact, const char **Name);

} // namespace fathom

#endif
