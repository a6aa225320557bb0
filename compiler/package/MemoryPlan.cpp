// Liveness and placement of tensors.
#include "compiler/package/MemoryPlan.h"
#include "compiler/graph/SizeMath.h"

#include "compiler/graph/Pieces.h"
#include "compiler/graph/Views.h"
#include "llvm/Support/MathExtras.h"
#include <map>
#include <queue>
#include <set>

using namespace mlir;
using namespace fathom::graph;

namespace fathom {

static constexpr int64_t alignment = 64; // a cache line, and the widest vector

AffineExpr alignedBytes(Value value) {
  AffineExpr bytes = bufferBytes(cast<RankedTensorType>(value.getType()));
  return graph::size::simplified(bytes.ceilDiv(alignment) * alignment);
}

namespace {

// A buffer of the arena: alive from one step of the program to another, both included.
struct Tensor {
  AffineExpr bytes;
  int64_t first, last;
  Place place = {Place::Fixed, 0};
};

// How many pairs of tensors that are alive together are compared before placement becomes simpler: a fraction of a
// second.
constexpr size_t mostCompared = size_t(1) << 21;

// Stretches of steps, numbered as they are added, and which of them share a step with another: a tree of halved
// stretches. Each lies at the few nodes that make it up, and is known to those above them.
class Lifetimes {
public:
  explicit Lifetimes(int64_t steps)
      : leaves(llvm::PowerOf2Ceil(std::max<int64_t>(1, steps))), at(2 * leaves), below(at) {}

  void add(int64_t first, int64_t last) {
    size_t number = seen.size();
    seen.push_back(0);
    auto [nodes, above] = cover(first, last);
    for (size_t node : nodes)
      at[node].push_back(number);
    for (size_t node : above)
      below[node].push_back(number);
  }

  SmallVector<size_t> alive(int64_t first, int64_t last) {
    SmallVector<size_t> found;
    ++queries;
    auto collect = [&](ArrayRef<unsigned> numbers) {
      for (unsigned number : numbers)
        if (std::exchange(seen[number], queries) != queries)
          found.push_back(number);
    };
    auto [nodes, above] = cover(first, last);
    for (size_t node : nodes)
      collect(at[node]), collect(below[node]);
    for (size_t node : above)
      collect(at[node]);
    return found;
  }

private:
  // The nodes that make up a stretch, and all that are above one of them.
  std::pair<SmallVector<size_t>, SmallVector<size_t>> cover(int64_t first, int64_t last) {
    SmallVector<size_t> nodes, above;
    for (size_t left = leaves + first, right = leaves + last + 1; left < right; left /= 2, right /= 2) {
      if (left % 2)
        nodes.push_back(left++);
      if (right % 2)
        nodes.push_back(--right);
    }
    for (size_t node : nodes)
      for (size_t parent = node / 2; parent && !llvm::is_contained(above, parent); parent /= 2)
        above.push_back(parent);
    return {nodes, above};
  }

  size_t leaves;
  std::vector<std::vector<unsigned>> at, below;
  std::vector<unsigned> seen; // by the last query that found it
  unsigned queries = 0;
};

class Planner {
public:
  explicit Planner(const Program &program) : main(program.main), symbols(getSymbols(program.module)) {}

  MemoryPlan run() {
    number(main.getBody().front());
    for (auto [i, argument] : llvm::enumerate(main.getArguments()))
      plan.places[argument] = {Place::Input, int64_t(i)};
    for (auto [i, value] : llvm::enumerate(main.getBody().front().getTerminator()->getOperands()))
      plan.places[bufferRoot(value)] = {Place::Output, int64_t(i)};
    visit(main.getBody().front());
    placeWeights();
    placeFixed();
    placeSlots();
    for (auto &[value, index] : tensorOf)
      plan.places[value] = tensors[index].place;
    for (auto &[value, pair] : carriedTensors)
      plan.carried[value] = {tensors[pair.first].place, tensors[pair.second].place};
    return std::move(plan);
  }

private:
  // The steps of the program; an op with regions takes from its own step to that of the last op inside.
  void number(Block &block) {
    for (Operation &op : block) {
      begin[&op] = steps++;
      for (Region &region : op.getRegions())
        number(region.front());
      end[&op] = steps - 1;
    }
  }

  // The op of the value's block that uses it last, itself or inside one of its regions; a use of a piece of it is one.
  Operation *lastUser(Value root) {
    Operation *last = root.getDefiningOp();
    llvm::SmallSetVector<Value, 8> aliases;
    aliases.insert(root);
    for (size_t i = 0; i < aliases.size(); ++i) {
      Value alias = aliases[i];
      if (Operation *whole = alias.getDefiningOp(); whole && isa<ConcatOp>(whole) && isInPlace(whole))
        for (Value piece : whole->getOperands())
          aliases.insert(bufferRoot(piece));
      for (Operation *user : alias.getUsers()) {
        Operation *here = root.getParentBlock()->findAncestorOpInBlock(*user);
        if (!last || begin[here] > begin[last])
          last = here;
        if (isView(user))
          aliases.insert(user->getResult(0));
      }
    }
    return last;
  }

  bool isDataSized(Value value) { return isComputed(alignedBytes(value), symbols); }

  size_t addTensor(Value like, int64_t first, int64_t last) {
    tensors.push_back({alignedBytes(like), first, last});
    return tensors.size() - 1;
  }

  // Gives a value that `op` makes a place, unless it has one already.
  void place(Value value, Operation *op) {
    if (Piece piece = pieceOf(value))
      return placeWithin(piece, value, op);
    if (plan.places.contains(value) || tensorOf.count(value))
      return;
    Operation *last = lastUser(value);
    if (!isDataSized(value)) {
      tensorOf[value] = addTensor(value, begin[op], end[last]);
      return;
    }
    plan.places[value] = {op->getNumRegions() ? Place::Pointer : Place::Heap};
    // What leaves the block belongs to whoever takes it.
    if (!last->hasTrait<OpTrait::IsTerminator>() || !isYielded(value))
      plan.released[last].push_back(value);
  }
  // A piece lies where its whole does, which lives from its first piece on.
  void placeWithin(const Piece &piece, Value value, Operation *op) {
    ConcatOp concat = piece.whole;
    Value whole = concat.getResult();
    place(whole, op);
    AffineExpr offset = offsetOf(piece);
    if (AffineExpr outer = plan.offsets.lookup(whole))
      offset = graph::size::simplified(offset + outer);
    plan.offsets[value] = offset;
    if (auto found = tensorOf.find(whole); found != tensorOf.end())
      tensorOf[value] = found->second;
    else
      plan.places[value] = plan.places.lookup(whole);
  }
  static bool isYielded(Value root) {
    return llvm::any_of(root.getParentBlock()->getTerminator()->getOperands(),
                        [&](Value operand) { return bufferRoot(operand) == root; });
  }

  void visit(Block &block) {
    for (Operation &op : block) {
      // Packings of weights are not executed, so what they read is not stored; nor is what a view reads, unless it is
      // packed and thus the memory that the view is of.
      for (Value operand : op.getOperands())
        if (isPackedWeight(operand) && !isa<RelayoutOp>(op) && (!isView(&op) || operand.getDefiningOp<RelayoutOp>()))
          addWeight(operand);
      if (isa<func::CallOp>(op))
        for (Value result : op.getResults())
          place(result, &op);
      if (auto branch = dyn_cast<IfOp>(op))
        visitIf(branch);
      if (auto loop = dyn_cast<LoopOp>(op))
        visitLoop(loop);
    }
  }

  // What is handed on by its address outlives its block, also where its own size would give it a place in the arena.
  void handOn(Value yielded) {
    Value root = bufferRoot(yielded);
    if (root.getDefiningOp<func::CallOp>())
      plan.places[root] = {Place::Heap};
  }

  // Both branches write a result where the If has it; a result of data's size is handed on by its address.
  void visitIf(IfOp op) {
    for (Value result : op.getResults())
      place(result, op);
    for (Region &region : op->getRegions()) {
      for (auto [result, yielded] : llvm::zip(op.getResults(), region.front().getTerminator()->getOperands()))
        if (auto found = tensorOf.find(result); found != tensorOf.end())
          tensorOf[bufferRoot(yielded)] = found->second;
        else
          handOn(yielded);
      visit(region.front());
    }
  }

  void visitLoop(LoopOp op) {
    Block &body = op.getBody().front();
    for (Value scalar : body.getArguments().take_front(2))
      tensorOf[scalar] = addTensor(scalar, begin[op], end[op]);
    auto yielded = body.getTerminator()->getOperands();
    for (auto [i, argument] : llvm::enumerate(body.getArguments().drop_front(2))) {
      Value result = op.getResult(i);
      plan.places[argument] = {Place::Pointer};
      plan.places[result] = {Place::Pointer};
      Operation *last = lastUser(result);
      if (isDataSized(argument)) {
        plan.released[last].push_back(result);
        handOn(yielded[1 + i]);
        continue;
      }
      plan.places[bufferRoot(yielded[1 + i])] = {Place::Pointer};
      size_t one = addTensor(argument, begin[op], end[last]), other = addTensor(argument, begin[op], end[last]);
      carriedTensors.insert({argument, {one, other}});
    }
    for (Value stacked : op.getResults().drop_front(body.getNumArguments() - 2))
      place(stacked, op);
    visit(body);
  }

  void addWeight(Value operand) {
    if (plan.places.contains(operand))
      return;
    Value inner = operand;
    if (auto relayout = operand.getDefiningOp<RelayoutOp>())
      inner = relayout.getInput();
    auto constant = bufferRoot(inner).getDefiningOp<ConstantOp>();
    Weight weight{constant.getValue(), cast<RankedTensorType>(inner.getType()),
                  cast<RankedTensorType>(operand.getType())};
    // A view whose sizes are only known when the model runs is one of the constant as it is.
    if (!weight.type.hasStaticShape())
      weight.source = weight.type = constant.getType();
    // The same data in the same layout is stored once.
    auto [found, inserted] = weightIndex.try_emplace({weight.value, weight.source, weight.type}, plan.weights.size());
    plan.places[operand] = {Place::WeightData, int64_t(found->second)};
    if (!inserted)
      return;
    weight.bytes = constantSize(bufferBytes(weight.type)).value_or(0);
    plan.weights.push_back(weight);
  }

  // Indices and the like first, so that an artifact without weights can keep them.
  void placeWeights() {
    for (bool floats : {false, true}) {
      for (Weight &weight : plan.weights) {
        if (isa<FloatType>(weight.type.getElementType()) != floats)
          continue;
        weight.offset = plan.weightBytes;
        plan.weightBytes = llvm::alignTo(plan.weightBytes + weight.bytes, alignment);
      }
      if (!floats)
        plan.keptBytes = plan.weightBytes;
    }
  }

  // Largest first, each at the lowest offset where nothing alive at the same time lies. Where very many are alive at
  // the same time, the smallest lie behind these.
  void placeFixed() {
    SmallVector<std::pair<int64_t, Tensor *>> order;
    for (Tensor &tensor : tensors)
      if (auto bytes = constantSize(tensor.bytes))
        order.push_back({*bytes, &tensor});
    // The tensors' own order decides between equals.
    llvm::sort(order, [](const auto &a, const auto &b) {
      return std::pair(-a.first, a.second) < std::pair(-b.first, b.second);
    });
    Lifetimes placed(steps);
    size_t compared = 0;
    for (auto [i, sized] : llvm::enumerate(order)) {
      auto [bytes, tensor] = sized;
      SmallVector<size_t> neighbours = placed.alive(tensor->first, tensor->last);
      compared += neighbours.size();
      if (compared > mostCompared)
        return placeByBirth(ArrayRef(order).drop_front(i));
      llvm::sort(neighbours, [&](size_t a, size_t b) {
        return std::pair(order[a].second->place.at, a) < std::pair(order[b].second->place.at, b);
      });
      int64_t offset = 0;
      for (size_t other : neighbours) {
        int64_t at = order[other].second->place.at;
        if (offset + bytes <= at)
          break;
        offset = std::max(offset, at + order[other].first);
      }
      tensor->place = {Place::Fixed, offset};
      placed.add(tensor->first, tensor->last);
      plan.fixedBytes = std::max(plan.fixedBytes, offset + bytes);
    }
  }

  // In order of birth, each in the smallest gap that those before have left, behind all that is placed.
  void placeByBirth(ArrayRef<std::pair<int64_t, Tensor *>> sized) {
    SmallVector<std::pair<int64_t, Tensor *>> order = llvm::to_vector(sized);
    llvm::sort(order, [](const auto &a, const auto &b) {
      return std::pair(a.second->first, a.second) < std::pair(b.second->first, b.second);
    });
    int64_t end = plan.fixedBytes;
    std::map<int64_t, int64_t> gaps;                     // where each begins, and its size
    std::set<std::pair<int64_t, int64_t>> sizes;         // of the gaps, and where they begin
    using Alive = std::tuple<int64_t, int64_t, int64_t>; // until when, where, how large
    std::priority_queue<Alive, std::vector<Alive>, std::greater<>> alive;
    auto open = [&](int64_t at, int64_t size) {
      if (size)
        gaps[at] = size, sizes.insert({size, at});
    };
    auto close = [&](std::map<int64_t, int64_t>::iterator gap) {
      sizes.erase({gap->second, gap->first});
      gaps.erase(gap);
    };
    for (auto [bytes, tensor] : order) {
      for (; !alive.empty() && std::get<0>(alive.top()) < tensor->first; alive.pop()) {
        auto [until, at, size] = alive.top();
        auto next = gaps.lower_bound(at);
        if (next != gaps.end() && next->first == at + size) {
          size += next->second;
          close(next);
        }
        if (auto before = gaps.lower_bound(at); before != gaps.begin())
          if (--before; before->first + before->second == at) {
            at = before->first, size += before->second;
            close(before);
          }
        open(at, size);
      }
      auto smallest = sizes.lower_bound({bytes, 0});
      int64_t at = end;
      if (smallest != sizes.end()) {
        auto [size, begin] = *smallest;
        at = begin;
        close(gaps.find(begin));
        open(at + bytes, size - bytes);
      } else {
        end += bytes;
      }
      tensor->place = {Place::Fixed, at};
      if (bytes)
        alive.push({tensor->last, at, bytes});
    }
    plan.fixedBytes = end;
  }

  // In order of birth, each in the first slot that is free.
  void placeSlots() {
    SmallVector<Tensor *> order;
    for (Tensor &tensor : tensors)
      if (!constantSize(tensor.bytes))
        order.push_back(&tensor);
    llvm::sort(order, [](Tensor *a, Tensor *b) { return std::pair(a->first, a) < std::pair(b->first, b); });
    std::set<size_t> free;
    std::set<std::pair<int64_t, size_t>> busy; // until when, and the slot
    DenseSet<std::pair<size_t, AffineExpr>> noted;
    for (Tensor *tensor : order) {
      for (; !busy.empty() && busy.begin()->first < tensor->first; busy.erase(busy.begin()))
        free.insert(busy.begin()->second);
      if (free.empty()) {
        free.insert(plan.slots.size());
        plan.slots.emplace_back();
      }
      size_t slot = *free.begin();
      free.erase(free.begin());
      busy.insert({tensor->last, slot});
      if (noted.insert({slot, tensor->bytes}).second)
        plan.slots[slot].push_back(tensor->bytes);
      tensor->place = {Place::Slot, int64_t(slot)};
    }
  }

  func::FuncOp main;
  SymbolList symbols;
  MemoryPlan plan;
  int64_t steps = 0;
  DenseMap<Operation *, int64_t> begin, end;
  std::vector<Tensor> tensors;
  llvm::MapVector<Value, size_t> tensorOf;
  llvm::MapVector<Value, std::pair<size_t, size_t>> carriedTensors;
  DenseMap<std::tuple<Attribute, Type, Type>, size_t> weightIndex;
};

} // namespace

MemoryPlan planMemory(const Program &program) {
  MemoryPlan plan = Planner(program).run();
  plan.space = program.backend->memorySpace();
  // A device's groups have theirs by entry.
  if (plan.space == MemorySpace::Host)
    for (const KernelCode &code : program.codes)
      plan.scratchBytes = std::max(plan.scratchBytes, code.grid.scratchBytes);
  for (auto &entry : plan.places)
    entry.second.space = plan.space;
  for (auto &entry : plan.carried)
    entry.second.first.space = entry.second.second.space = plan.space;
  return plan;
}

} // namespace fathom
