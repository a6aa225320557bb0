// Working sets of reuses, from the tree of loops.
#include "compiler/analysis/WorkingSets.h"

#include "compiler/analysis/Footprint.h"
#include <map>

namespace fathom {
namespace {

using BytesByBuffer = std::map<unsigned, double>;

class Reuses {
public:
  Reuses(const LoopTree &tree, int64_t line) : tree(tree), line(line), below(tree.nodes.size()) {
    for (unsigned node = 0; node < tree.nodes.size(); ++node)
      groups.push_back(groupAccesses(tree, node));
    for (unsigned node = tree.nodes.size(); node-- > 0;) {
      for (const AccessGroup &group : groups[node])
        below[node].push_back(&group);
      for (unsigned child : tree.nodes[node].children)
        llvm::append_range(below[node], below[child]);
    }
  }

  std::vector<double> run() {
    std::vector<double> sets;
    for (unsigned node = 0; node < tree.nodes.size(); ++node) {
      BytesByBuffer once = touched(node, false), whole = touched(node, true);
      double iteration = 0;
      for (auto [buffer, bytes] : once)
        iteration += bytes;
      for (auto [buffer, bytes] : once) {
        double trips = double(tree.nodes[node].trips);
        bool again = trips > 1 && whole[buffer] < 0.99 * trips * bytes;
        if (again || partsWith(node, buffer) > 1)
          sets.push_back(iteration);
      }
    }
    return sets;
  }

private:
  // What an iteration of a node touches, or all of them.
  BytesByBuffer touched(unsigned node, bool isWhole) const {
    std::map<unsigned, llvm::SmallVector<const AccessGroup *>> byBuffer;
    for (const AccessGroup *group : below[node])
      byBuffer[group->buffer].push_back(group);
    BytesByBuffer bytes;
    for (auto &[buffer, members] : byBuffer)
      bytes[buffer] = double(
          unionBytes(members, tree, line, [&](unsigned loop) { return loop > node || (isWhole && loop == node); }));
    return bytes;
  }

  size_t partsWith(unsigned node, unsigned buffer) const {
    auto has = [&](const AccessGroup *group) { return group->buffer == buffer; };
    size_t parts = llvm::any_of(groups[node], [&](const AccessGroup &group) { return has(&group); });
    for (unsigned child : tree.nodes[node].children)
      parts += llvm::any_of(below[child], has);
    return parts;
  }

  const LoopTree &tree;
  int64_t line;
  std::vector<std::vector<AccessGroup>> groups;
  std::vector<llvm::SmallVector<const AccessGroup *>> below; // by node, of the whole subtree
};

} // namespace

std::vector<double> workingSets(const LoopTree &tree, int64_t line) { return Reuses(tree, line).run(); }

WorkingSetsByLevel placed(std::vector<double> sets, llvm::ArrayRef<double> caches) {
  WorkingSetsByLevel sums{};
  llvm::sort(sets);
  size_t levels = std::min(caches.size(), workingSetLevels - 1);
  for (double bytes : sets) {
    size_t level = 0;
    while (level < levels && sums[level] + bytes > caches[level])
      ++level;
    sums[level < levels ? level : workingSetLevels - 1] += bytes;
  }
  return sums;
}

} // namespace fathom
