// Weights are told apart by a cryptographic hash of their bytes as they are packed, which are not all in memory at
// once.
#include "compiler/package/SharedWeights.h"

#include "compiler/package/Weights.h"
#include "compiler/support/LargeStack.h"
#include "llvm/Support/BLAKE3.h"
#include <map>

namespace fathom {

using Digest = llvm::BLAKE3Result<>;

static Digest digestOf(const Weight &weight) {
  llvm::BLAKE3 hash;
  int64_t size = weight.bytes;
  hash.update(llvm::ArrayRef(reinterpret_cast<const uint8_t *>(&size), sizeof size));
  auto add = [&](llvm::ArrayRef<char> bytes, int64_t before) {
    hash.update(llvm::ArrayRef(reinterpret_cast<const uint8_t *>(&before), sizeof before));
    hash.update(llvm::ArrayRef(reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()));
    return llvm::Error::success();
  };
  llvm::cantFail(writeWeight(weight, add));
  return hash.final();
}

std::vector<Weight> shareWeights(llvm::ArrayRef<MemoryPlan *> plans) {
  std::vector<Weight *> all;
  std::vector<bool> isKept;
  for (MemoryPlan *plan : plans)
    for (Weight &weight : plan->weights) {
      all.push_back(&weight);
      isKept.push_back(weight.offset < plan->keptBytes);
    }
  std::vector<Digest> digests(all.size());
  onLargeStacks(0, all.size(), [&](size_t i) { digests[i] = digestOf(*all[i]); });
  std::vector<Weight> shared;
  int64_t bytes = 0, keptBytes = 0;
  // What no seed can stand in for comes first, as in a plan of its own.
  for (bool kept : {true, false}) {
    std::map<Digest, int64_t> offsets;
    for (size_t i = 0; i < all.size(); ++i) {
      if (isKept[i] != kept)
        continue;
      auto [found, isNew] = offsets.try_emplace(digests[i], bytes);
      all[i]->offset = found->second;
      if (!isNew)
        continue;
      shared.push_back(*all[i]);
      bytes = llvm::alignTo(bytes + all[i]->bytes, lineBytes);
    }
    if (kept)
      keptBytes = bytes;
  }
  for (MemoryPlan *plan : plans)
    plan->weightBytes = bytes, plan->keptBytes = keptBytes;
  return shared;
}

} // namespace fathom
