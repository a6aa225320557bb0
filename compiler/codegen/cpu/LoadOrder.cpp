// Greedy orders of one iteration, until one begins as it ends.
#include "compiler/codegen/cpu/LoadOrder.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

namespace fathom {
namespace {

class Iteration {
public:
  Iteration(llvm::ArrayRef<VectorUse> uses, int64_t multiplyAdds, int64_t registers, int64_t distance, int64_t carried)
      : uses(uses), multiplyAdds(multiplyAdds), distance(distance), count(uses.size()), isTaken(registers),
        isLoaded(2 * count) {
    order.carried = carried;
    order.behind.resize(count);
    order.place.resize(count);
    for (int64_t vector = 0; vector < carried; ++vector) {
      isLoaded[vector] = isTaken[vector] = true;
      order.place[vector] = vector;
    }
  }

  LoadOrder order;
  // The shortest time from a load to its first use; none if one comes too late.
  std::optional<int64_t> run() {
    int64_t perMultiplyAdd = llvm::divideCeil(count, multiplyAdds);
    for (int64_t at = 0; at < multiplyAdds; ++at) {
      for (int64_t vector = 0; vector < count; ++vector)
        if (uses[vector].first == at && !isLoaded[vector])
          return std::nullopt;
      for (int64_t vector = 0; vector < count; ++vector)
        if (uses[vector].last == at)
          isTaken[order.place[vector]] = false;
      for (int64_t i = 0; i < perMultiplyAdd; ++i)
        loadOne(at);
    }
    return shortest;
  }
  // How many vectors of the next iteration are loaded at the end, from the first on.
  int64_t left() const {
    return llvm::find(llvm::ArrayRef(isLoaded).drop_front(count), false) - (isLoaded.begin() + count);
  }

private:
  // The next vector that there is a register for. Numbers from `count` on are vectors of the next iteration.
  void loadOne(int64_t at) {
    for (int64_t vector = order.carried; vector < count + order.carried; ++vector) {
      int64_t ahead = uses[vector % count].first + vector / count * multiplyAdds - at;
      if (ahead > distance)
        return;
      std::optional<int64_t> place = isLoaded[vector] ? std::nullopt : placeFor(vector);
      if (!place)
        continue;
      isLoaded[vector] = isTaken[*place] = true;
      order.behind[vector % count] = at;
      order.place[vector % count] = *place;
      shortest = std::min(shortest, ahead);
      return;
    }
  }
  std::optional<int64_t> placeFor(int64_t vector) const {
    if (vector >= count)
      return isTaken[vector - count] ? std::nullopt : std::optional(vector - count);
    // The last ones: the first are wanted by the carried vectors.
    for (int64_t place = isTaken.size() - 1; place >= 0; --place)
      if (!isTaken[place])
        return place;
    return std::nullopt;
  }

  llvm::ArrayRef<VectorUse> uses;
  int64_t multiplyAdds, distance, count;
  llvm::SmallVector<bool> isTaken, isLoaded;
  int64_t shortest = INT64_MAX;
};

} // namespace

std::optional<LoadOrder> orderLoads(llvm::ArrayRef<VectorUse> uses, int64_t multiplyAdds, int64_t registers,
                                    int64_t distance) {
  std::optional<LoadOrder> best;
  for (int64_t most = 1, longest = 0; most <= distance; ++most) {
    int64_t carried = llvm::count_if(uses, [&](const VectorUse &use) { return use.first < most; });
    for (carried = std::min(carried, registers); carried > 0;) {
      Iteration iteration(uses, multiplyAdds, registers, most, carried);
      std::optional<int64_t> shortest = iteration.run();
      if (!shortest)
        break;
      if (iteration.left() == carried) {
        if (*shortest > longest)
          longest = *shortest, best = iteration.order;
        break;
      }
      carried = iteration.left(); // an iteration cannot leave more than it begins with
    }
  }
  return best;
}

} // namespace fathom
