// Work that a driver does in the calling thread, in several threads.
#ifndef FATHOM_RUNTIME_DEVICE_PARALLEL_H
#define FATHOM_RUNTIME_DEVICE_PARALLEL_H

#include "../fathom_rt.h"

namespace fathom {

// Calls Do(Arg, I) for each I below Count, in as many threads as there are CPUs to use (16 at most), and returns when
// all have ended: with the error of the least I, or null. After an error no further ones are begun.
[[nodiscard]] fathom_status *inParallel(size_t Count, fathom_status *(*Do)(void *Arg, size_t I), void *Arg);

} // namespace fathom

#endif
