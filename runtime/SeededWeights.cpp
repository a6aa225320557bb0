// Fills seeded weights, a block of them per task; the generator counts, so every block can start on its own.
#include "SeededWeights.h"

#include "CpuCount.h"
#include "Status.h"
#include "ThreadPool.h"

#include <algorithm>
#include <cstring>
#include <sys/mman.h>

using namespace fathom;

namespace {

constexpr size_t DrawBytes = 2 * sizeof(float);
constexpr size_t BlockBytes = 1 << 20;

struct Fill {
  uint64_t Seed;
  char *Weights;
  size_t Bytes;
};

uint64_t splitmix64(uint64_t Seed, uint64_t Index) {
  uint64_t X = Seed + (Index + 1) * 0x9e3779b97f4a7c15ull;
  X = (X ^ (X >> 30)) * 0xbf58476d1ce4e5b9ull;
  X = (X ^ (X >> 27)) * 0x94d049bb133111ebull;
  return X ^ (X >> 31);
}

// One product and no sum, so that no compiler can fuse it and every machine rounds the same.
float toValue(uint32_t Half) { return float(int32_t(Half) >> 8) * (0.05f / 8388608.0f); }

int32_t fillBlocks(const void *Env, int64_t First, int64_t Last, int64_t, void *) {
  const Fill &F = *static_cast<const Fill *>(Env);
  size_t Begin = size_t(First) * BlockBytes, End = std::min(size_t(Last) * BlockBytes, F.Bytes);
  for (size_t At = Begin; At < End; At += DrawBytes) {
    uint64_t Draw = splitmix64(F.Seed, At / DrawBytes);
    const float Values[2] = {toValue(uint32_t(Draw)), toValue(uint32_t(Draw >> 32))};
    memcpy(F.Weights + At, Values, std::min(DrawBytes, End - At));
  }
  return 0;
}

} // namespace

fathom_status *fathom::makeSeededWeights(uint64_t Seed, size_t Bytes, const char *Kept, size_t KeptBytes,
                                         char **Weights) {
  *Weights = nullptr;
  if (!Bytes)
    return nullptr;
  void *Memory = mmap(nullptr, Bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (Memory == MAP_FAILED)
    return outOfMemory("the weights", Bytes);
  madvise(Memory, Bytes, MADV_HUGEPAGE);

  Fill F = {Seed, static_cast<char *>(Memory), Bytes};
  int64_t Blocks = int64_t((Bytes - 1) / BlockBytes + 1);
  ThreadPool Pool;
  if (fathom_status *Status = Pool.start(int32_t(std::min<int64_t>(availableCpus(), Blocks)), nullptr, 0)) {
    freeSeededWeights(F.Weights, Bytes);
    return Status;
  }
  Pool.launch(fillBlocks, &F, Blocks);
  if (KeptBytes)
    memcpy(F.Weights, Kept, KeptBytes);
  // From here on nothing may change them.
  mprotect(Memory, Bytes, PROT_READ);
  *Weights = F.Weights;
  return nullptr;
}

void fathom::freeSeededWeights(char *Weights, size_t Bytes) {
  if (Weights)
    munmap(Weights, Bytes);
}
