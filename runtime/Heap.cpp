// A list of blocks, reused best fit first: a model takes few of them, and about the same ones at every run.
#include "Heap.h"

#include <cstdint>

using namespace fathom;

Heap::~Heap() {
  for (size_t I = 0; I < Blocks.size(); ++I)
    dispose(Blocks[I]);
}

void Heap::useAllocator(const fathom_context_options &Options) {
  Allocate = Options.allocate;
  Deallocate = Options.deallocate;
  User = Options.allocator_user;
}

void *Heap::allocate(int64_t Asked) {
  // No tensor is that large; rounding up must not overflow.
  if (Asked < 0 || Asked > INT64_MAX / 4)
    return nullptr;
  size_t Bytes = alignUp(size_t(Asked) ? size_t(Asked) : 1, Alignment);
  Block *Best = nullptr, *Empty = nullptr;
  for (size_t I = 0; I < Blocks.size(); ++I) {
    Block &Candidate = Blocks[I];
    if (!Candidate.Memory)
      Empty = &Candidate;
    // A block twice too large would keep others from finding one.
    else if (!Candidate.Used && Candidate.Bytes >= Bytes && Candidate.Bytes / 2 <= Bytes &&
             (!Best || Candidate.Bytes < Best->Bytes))
      Best = &Candidate;
  }
  if (Best) {
    Best->Used = Best->Recent = true;
    return Best->Memory;
  }
  // A little more than asked for, so that the next run's slightly larger tensor fits too.
  size_t Room = alignUp(Bytes + Bytes / 8, Alignment);
  void *Memory = Allocate ? Allocate(User, Room, Alignment) : aligned_alloc(Alignment, Room);
  if (!Memory || reinterpret_cast<uintptr_t>(Memory) % Alignment) {
    if (Memory && Deallocate)
      Deallocate(User, Memory, Room);
    return nullptr;
  }
  Block Fresh = {static_cast<char *>(Memory), Room, true, true};
  if (Empty)
    *Empty = Fresh;
  else if (!Blocks.push(Fresh)) {
    dispose(Fresh);
    return nullptr;
  }
  return Memory;
}

void Heap::release(void *Memory) {
  for (size_t I = 0; Memory && I < Blocks.size(); ++I)
    if (Blocks[I].Memory == Memory)
      Blocks[I].Used = false;
}

void Heap::releaseAll() {
  for (size_t I = 0; I < Blocks.size(); ++I) {
    // What two runs in a row did not need is not kept for ever.
    if (!Blocks[I].Recent)
      dispose(Blocks[I]);
    Blocks[I].Used = Blocks[I].Recent = false;
  }
}

void Heap::dispose(Block &Old) {
  if (Old.Memory && Deallocate)
    Deallocate(User, Old.Memory, Old.Bytes);
  else
    free(Old.Memory);
  Old.Memory = nullptr;
}
