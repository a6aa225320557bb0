// Only pages of a stack that are touched take memory, so that its size costs nothing.
#include "compiler/support/LargeStack.h"

#include "compiler/support/Cancellation.h"
#include "llvm/Support/Threading.h"
#include "llvm/Support/thread.h"
#include <algorithm>
#include <atomic>
#include <optional>
#include <vector>

namespace fathom {

static constexpr unsigned stackBytes = 64 << 20;
static thread_local bool isLarge = false;

void onLargeStack(llvm::function_ref<void()> body) {
  if (isLarge)
    return body();
  llvm::thread worker(std::optional<unsigned>(stackBytes), [&, cancellation = Cancellation::current()] {
    Cancellation::Scope scope(cancellation);
    isLarge = true;
    body();
  });
  worker.join();
}

void onLargeStacks(unsigned threads, size_t count, llvm::function_ref<void(size_t)> body) {
  size_t workers = std::min<size_t>(count, llvm::hardware_concurrency(threads).compute_thread_count());
  std::atomic<size_t> next = 0;
  auto work = [&, cancellation = Cancellation::current()] {
    Cancellation::Scope scope(cancellation);
    isLarge = true;
    for (size_t i = next++; i < count; i = next++)
      body(i);
  };
  if (workers <= 1)
    return onLargeStack([&] {
      for (size_t i = 0; i < count; ++i)
        body(i);
    });
  std::vector<llvm::thread> running;
  for (size_t i = 0; i < workers; ++i)
    running.push_back(llvm::thread(std::optional<unsigned>(stackBytes), work));
  for (llvm::thread &worker : running)
    worker.join();
}

} // namespace fathom
