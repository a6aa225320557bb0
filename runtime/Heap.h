// Memory for tensors whose sizes data decides: taken and given back while a model runs, kept for the next run.
#ifndef FATHOM_RUNTIME_HEAP_H
#define FATHOM_RUNTIME_HEAP_H

#include "Memory.h"
#include "fathom_rt.h"

namespace fathom {

class Heap {
public:
  Heap() = default;
  Heap(const Heap &) = delete;
  Heap &operator=(const Heap &) = delete;
  ~Heap();

  void useAllocator(const fathom_context_options &Options);

  // Memory of at least Bytes, aligned to Alignment; null when there is none.
  [[nodiscard]] void *allocate(int64_t Bytes);
  // Gives back what allocate returned; null is allowed.
  void release(void *Memory);
  // Gives back everything, at the end of a run.
  void releaseAll();

private:
  struct Block {
    char *Memory;
    size_t Bytes;
    bool Used, Recent; // now, and at any time in this run
  };
  void dispose(Block &Block);

  Array<Block> Blocks;
  void *(*Allocate)(void *User, size_t Bytes, size_t Alignment) = nullptr;
  void (*Deallocate)(void *User, void *Memory, size_t Bytes) = nullptr;
  void *User = nullptr;
};

} // namespace fathom

#endif
