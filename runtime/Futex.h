// Sleeping on a 32-bit word until another thread changes it and wakes the sleepers.
#ifndef FATHOM_RUNTIME_FUTEX_H
#define FATHOM_RUNTIME_FUTEX_H

#include <atomic>
#include <cstdint>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace fathom {

static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t), "the kernel reads the atomic as a plain word");

// Returns when woken, at once when Word is not Seen, or now and then for no reason.
inline void futexWait(std::atomic<uint32_t> &Word, uint32_t Seen) {
  syscall(SYS_futex, reinterpret_cast<uint32_t *>(&Word), FUTEX_WAIT_PRIVATE, Seen, nullptr, nullptr, 0);
}

inline void futexWake(std::atomic<uint32_t> &Word, int Count) {
  syscall(SYS_futex, reinterpret_cast<uint32_t *>(&Word), FUTEX_WAKE_PRIVATE, Count, nullptr, nullptr, 0);
}

} // namespace fathom

#endif
