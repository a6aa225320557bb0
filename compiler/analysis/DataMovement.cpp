// The walk over a tree of loops, from the accesses to the whole.
//
// What a tensor leaves in the cache is used again if little else was touched meanwhile: its reuse distance. Of what is
// executed again and again, that is
//  - for a loop whose counter selects the tensor's elements, all that the loop touches;
//  - for any other loop, the distance in its body;
//  - for a body of several parts, the distance in the part with the tensor and all that the others touch.
// With that, the status of reuse in Tuna's algorithm is the comparison of a distance with the cache.
#include "compiler/analysis/DataMovement.h"

#include <map>

namespace fathom {

double DataMovement::filled() const {
  double sum = 0;
  for (const BufferMovement &buffer : buffers)
    sum += buffer.filled;
  return sum;
}

double DataMovement::written() const {
  double sum = 0;
  for (const BufferMovement &buffer : buffers)
    sum += buffer.written;
  return sum;
}

MovementModel::MovementModel(const LoopTree &tree) : tree(tree) {
  for (unsigned node = 0; node < tree.nodes.size(); ++node)
    groups.push_back(groupAccesses(tree, node));
}

class MovementWalk {
public:
  MovementWalk(const MovementModel &model, int64_t cache, int64_t line)
      : model(model), tree(model.tree), cache(double(cache)), line(line) {
    result.nodes.resize(tree.nodes.size());
    below.resize(tree.nodes.size());
    for (unsigned node = tree.nodes.size(); node-- > 0;) {
      for (const AccessGroup &group : model.groups[node])
        below[node].push_back(&group);
      for (unsigned child : tree.nodes[node].children)
        llvm::append_range(below[node], below[child]);
    }
  }

  DataMovement run() {
    std::map<unsigned, Tensor> whole = visit(0);
    result.buffers.resize(tree.buffers.size());
    for (auto &[buffer, tensor] : whole) {
      bool isWritten = llvm::any_of(below[0], [&, buffer = buffer](const AccessGroup *group) {
        return group->buffer == buffer && group->isWrite;
      });
      result.buffers[buffer] = {tensor.filled, isWritten ? tensor.filled : 0};
    }
    return std::move(result);
  }

private:
  // Of one execution of a part of the tree; `distance` as if executions followed each other.
  struct Tensor {
    double footprint = 0, filled = 0, distance = 0;
  };
  using Tensors = std::map<unsigned, Tensor>;

  const MovementModel &model;
  const LoopTree &tree;
  double cache;
  int64_t line;
  DataMovement result;
  std::vector<llvm::SmallVector<const AccessGroup *>> below; // by node, of the whole subtree

  static double total(const Tensors &tensors) {
    double sum = 0;
    for (auto &[buffer, tensor] : tensors)
      sum += tensor.footprint;
    return sum;
  }

  // What groups touch while the loops below `node` run, and that of the node, if `isWhole`.
  Tensors footprints(llvm::ArrayRef<const AccessGroup *> groups, unsigned node, bool isWhole) {
    // Numbers grow downwards: in the subtree are those of it that a group's own loops have.
    auto active = [&](unsigned loop) { return loop > node || (isWhole && loop == node); };
    std::map<unsigned, llvm::SmallVector<const AccessGroup *>> byBuffer;
    for (const AccessGroup *group : groups)
      byBuffer[group->buffer].push_back(group);
    Tensors tensors;
    for (auto &[buffer, members] : byBuffer)
      tensors[buffer].footprint = double(unionBytes(members, tree, line, active));
    return tensors;
  }

  Tensors body(unsigned node) {
    llvm::SmallVector<Tensors> parts;
    llvm::SmallVector<const AccessGroup *> own;
    for (const AccessGroup &group : model.groups[node])
      own.push_back(&group);
    if (!own.empty()) {
      Tensors &tensors = parts.emplace_back(footprints(own, node, /*isWhole=*/false));
      double sum = total(tensors);
      for (auto &[buffer, tensor] : tensors)
        tensor.filled = tensor.footprint, tensor.distance = sum;
    }
    for (unsigned child : tree.nodes[node].children) {
      Tensors &tensors = parts.emplace_back(visit(child));
      for (auto &[buffer, tensor] : tensors)
        tensor.filled *= tree.nodes[child].share;
    }
    Tensors all = footprints(below[node], node, /*isWhole=*/false);
    double touched = total(all);
    llvm::SmallVector<double> sums;
    double sumOfParts = 0;
    for (const Tensors &part : parts) {
      sums.push_back(total(part));
      sumOfParts += sums.back();
    }
    for (auto &[buffer, tensor] : all) {
      double filled = 0;
      for (auto [part, sum] : llvm::zip(parts, sums))
        if (auto found = part.find(buffer); found != part.end()) {
          filled += found->second.filled;
          tensor.distance = std::max(tensor.distance, found->second.distance + sumOfParts - sum);
        }
      tensor.distance = std::min(tensor.distance, touched);
      tensor.filled = touched <= cache ? std::min(filled, tensor.footprint) : filled;
    }
    return all;
  }

  Tensors visit(unsigned node) {
    Tensors single = body(node);
    int64_t trips = tree.nodes[node].trips;
    Tensors whole = single;
    if (trips > 1) {
      Tensors full = footprints(below[node], node, /*isWhole=*/true);
      double touched = total(full);
      for (auto &[buffer, tensor] : whole) {
        const Tensor &once = single[buffer];
        tensor.footprint = full[buffer].footprint;
        bool isSelected = tensor.footprint > once.footprint;
        // What is loaded several times in an iteration already is so in every one.
        double times = once.footprint > 0 ? std::max(1.0, once.filled / once.footprint) : 1;
        double repeated = once.filled * double(trips);
        tensor.filled = once.distance <= cache ? std::min(repeated, tensor.footprint * times) : repeated;
        tensor.distance = isSelected ? touched : std::min(once.distance, touched);
      }
    }
    NodeMovement &told = result.nodes[node];
    told.footprint = int64_t(total(whole));
    for (auto &[buffer, tensor] : whole)
      told.filled += tensor.filled;
    return whole;
  }
};

DataMovement MovementModel::through(int64_t cacheBytes, int64_t lineBytes) const {
  return MovementWalk(*this, cacheBytes, lineBytes).run();
}

} // namespace fathom
