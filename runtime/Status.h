// How the runtime's own code makes the statuses of the public API.
#ifndef FATHOM_RUNTIME_STATUS_H
#define FATHOM_RUNTIME_STATUS_H

#include "fathom_rt.h"

namespace fathom {

// A status with a printf-formatted message. Never null: when memory is out, the status says that instead.
[[nodiscard]] fathom_status *makeStatus(fathom_code Code, const char *Format, ...)
    __attribute__((format(printf, 2, 3)));

// The same, about the node whose name are the `Length` bytes at `Node`. Given back unchanged when memory is out.
[[nodiscard]] fathom_status *withNode(fathom_status *Status, const char *Node, size_t Length);

// Another status that says the same; null for null.
[[nodiscard]] fathom_status *copyStatus(const fathom_status *Status);

// A call's argument that must not be null.
[[nodiscard]] fathom_status *isNull(const char *Function, const char *Argument);

[[nodiscard]] fathom_status *outOfMemory(const char *What, size_t Bytes);

} // namespace fathom

#endif
