// Ensembles of decision trees. A descent is a chain of loads, each of which waits for the one before: several of them
// go side by side, of rows through one tree or, for a row that is left alone, through several trees. They are free of
// branches: who has reached a leaf stays there until all have. A block of rows passes one tree after the other, so that
// the nodes come from the first-level cache.
#include "compiler/schedule/Trees.h"
#include "compiler/codegen/common/KernelBody.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom {
namespace {

class Trees {
public:
  Trees(KernelBody &k, const TreesSchedule &schedule)
      : k(k), schedule(schedule), e(k.e), c(k.e.c), op(cast<TreeEnsembleOp>(k.anchor)),
        threshold(cast<RankedTensorType>(op.getInput().getType()).getElementType()),
        weight(op.getType().getElementType()), targets(op.getTargets()), count(sizeOf(op.getTrees(), 0)),
        width(sizeOf(op.getWeights(), 1)), isNarrow(sizeOf(op.getNodes(), 1) == 2) {}

  Grid run() {
    Grid grid;
    auto [low, high] = k.taskRange(grid, sizesOf(op.getInput())[0], schedule.grain);
    int64_t together = schedule.rows, block = schedule.block;
    Value whole = c.sub(high, c.rem(c.sub(high, low), c.i64(together)));
    c.loop(low, whole, block, [&](Value first) { passBlock(first, c.min(c.add(first, block), whole)); });
    c.loop(whole, high, 1, [&](Value row) { passRow(row); });
    return grid;
  }

private:
  static int64_t sizeOf(Value tensor, int64_t dim) { return cast<RankedTensorType>(tensor.getType()).getDimSize(dim); }

  struct Tree {
    Value nodes, firstLeaf, depth, target;
  };
  struct Descent {
    Tree tree;
    Value row; // the address of its features
    Value node;
  };

  Tree treeAt(Value index) {
    auto field = [&](int64_t which) {
      Value at = c.add(c.mul(index, 4), which);
      Value number = c.load(e.buffer(op.getTrees()).pointer, at, c.b.getI32Type());
      return arith::ExtUIOp::create(c.b, c.loc, c.b.getI64Type(), number).getResult();
    };
    return {nodeAt(e.buffer(op.getNodes()).pointer, field(0)), field(1), field(2), field(3)};
  }
  Value nodeAt(Value nodes, Value index) {
    return c.address(nodes, isNarrow ? index : c.mul(index, 2), c.b.getI64Type());
  }
  Value linkAt(Value node, int64_t which) {
    Type type = isNarrow ? c.b.getI16Type() : c.b.getI32Type();
    Value link = c.load(node, c.i64(2 + which), type);
    return arith::ExtUIOp::create(c.b, c.loc, c.b.getI64Type(), link);
  }
  Value rowAt(Value row) {
    const Buffer &input = e.buffer(op.getInput());
    Value offset = c.add(c.expr(input.layout.offset), c.mul(row, c.expr(input.layout.strides[0])));
    return c.address(input.pointer, offset, threshold);
  }

  // The node behind this one. At a leaf no feature is below the threshold, and its child is itself.
  Value next(const Descent &descent, Value index) {
    Value node = nodeAt(descent.tree.nodes, index);
    Value limit = c.load(node, c.i64(0), threshold), feature = c.load(descent.row, linkAt(node, 0), threshold);
    Value isBelow = arith::CmpFOp::create(c.b, c.loc, arith::CmpFPredicate::OLE, feature, limit);
    return c.add(linkAt(node, 1), arith::ExtUIOp::create(c.b, c.loc, c.b.getI64Type(), isBelow).getResult());
  }

  // Descends from the roots to the leaves, all together.
  void descend(MutableArrayRef<Descent> descents) {
    Value left = descents[0].tree.depth;
    for (const Descent &descent : descents.drop_front())
      if (descent.tree.depth != left)
        left = c.max(left, descent.tree.depth);
    SmallVector<Value> init(descents.size(), c.i64(0));
    init.append({left, c.integer(c.b.getI1Type(), 1)});
    SmallVector<Type> types(ValueRange(init).getTypes());
    auto loop = scf::WhileOp::create(
        c.b, c.loc, types, init,
        [&](OpBuilder &, Location, ValueRange values) {
          Value isBelow = c.cmp(arith::CmpIPredicate::sgt, values[descents.size()], c.i64(0));
          scf::ConditionOp::create(c.b, c.loc, c.both(isBelow, values.back()), values);
        },
        [&](OpBuilder &, Location, ValueRange values) {
          SmallVector<Value> nodes(values.begin(), values.begin() + descents.size());
          Value moved = c.i64(0);
          int64_t steps = schedule.steps;
          for (int64_t step = 0; step < steps; ++step)
            for (auto [node, descent] : llvm::zip_equal(nodes, descents)) {
              Value before = std::exchange(node, next(descent, node));
              if (step == steps - 1)
                moved = arith::OrIOp::create(c.b, c.loc, moved,
                                             arith::XOrIOp::create(c.b, c.loc, before, node).getResult());
            }
          nodes.append(
              {c.sub(values[descents.size()], c.i64(steps)), c.cmp(arith::CmpIPredicate::ne, moved, c.i64(0))});
          scf::YieldOp::create(c.b, c.loc, nodes);
        });
    for (auto [descent, node] : llvm::zip(descents, loop.getResults()))
      descent.node = node;
  }

  // The row of weights of the leaf that a descent has reached.
  Value leafOf(const Descent &descent) {
    Value node = nodeAt(descent.tree.nodes, descent.node);
    Value bits = c.load(node, c.i64(0), c.b.getI32Type());
    bits = arith::AndIOp::create(c.b, c.loc, bits, c.i32((1 << leafBits) - 1));
    return c.add(descent.tree.firstLeaf, arith::ExtUIOp::create(c.b, c.loc, c.b.getI64Type(), bits).getResult());
  }
  static constexpr int leafBits = 22; // of a float's fraction, without the one that makes it quiet

  Value nothing(int64_t lanes = 1) {
    double none = op.getAggregate() == "SUM" ? 0 : std::numeric_limits<double>::quiet_NaN();
    return c.number(vectorType(weight, lanes), none);
  }
  Value combined(Value before, Value weights) {
    if (op.getAggregate() == "MIN")
      return arith::MinNumFOp::create(c.b, c.loc, before, weights);
    if (op.getAggregate() == "MAX")
      return arith::MaxNumFOp::create(c.b, c.loc, before, weights);
    return arith::AddFOp::create(c.b, c.loc, before, weights);
  }
  Value weightsAt(Value leaf, Value target, int64_t lanes) {
    return e.load(e.buffer(op.getWeights()), Indices{{leaf, 0}, {target, lanes > 1 ? 1 : 0}}, lanes);
  }

  // Runs `body` over all targets, vectors of them first.
  void overTargets(llvm::function_ref<void(Value, int64_t)> body) {
    int64_t lanes = e.target.lanes(weight.getIntOrFloatBitWidth()), vectors = targets / lanes * lanes;
    c.loop(c.i64(0), c.i64(vectors), lanes, [&](Value target) { body(target, lanes); });
    c.loop(c.i64(vectors), c.i64(targets), 1, [&](Value target) { body(target, 1); });
  }
  Indices at(Value row, Value target, int64_t lanes) { return {{row, 0}, {target, lanes > 1 ? 1 : 0}}; }
  void clear(Value row) {
    overTargets(
        [&](Value target, int64_t lanes) { e.store(k.outputs[0], at(row, target, lanes), nothing(lanes), lanes); });
  }
  void update(Value row, Value target, Value leaf, Value column, int64_t lanes) {
    Value before = e.load(k.outputs[0], at(row, target, lanes), lanes);
    e.store(k.outputs[0], at(row, target, lanes), combined(before, weightsAt(leaf, column, lanes)), lanes);
  }
  // Adds a leaf's weights to the row's results.
  void addLeaf(Value row, const Descent &descent) {
    Value leaf = leafOf(descent);
    if (width == 1)
      return update(row, targets == 1 ? c.i64(0) : descent.tree.target, leaf, c.i64(0), 1);
    overTargets([&](Value target, int64_t lanes) { update(row, target, leaf, target, lanes); });
  }

  // A block of whole tiles of rows.
  void passBlock(Value first, Value last) {
    int64_t together = schedule.rows;
    c.loop(first, last, 1, [&](Value row) { clear(row); });
    c.loop(c.i64(0), c.i64(count), 1, [&](Value index) {
      Tree tree = treeAt(index);
      c.loop(first, last, together, [&](Value row) {
        SmallVector<Descent> descents;
        for (int64_t i = 0; i < together; ++i)
          descents.push_back({tree, rowAt(c.add(row, i)), {}});
        descend(descents);
        for (int64_t i = 0; i < together; ++i)
          addLeaf(c.add(row, i), descents[i]);
      });
    });
  }

  // One row, which descends several trees together. Its only target stays in a register.
  void passRow(Value row) {
    int64_t together = std::min<int64_t>(schedule.trees, count), whole = count / together * together;
    Value features = rowAt(row);
    bool isSingle = targets == 1;
    if (!isSingle)
      clear(row);
    auto pass = [&](int64_t from, int64_t to, int64_t step, Value sum) {
      SmallVector<Value> carried = isSingle ? SmallVector<Value>{sum} : SmallVector<Value>();
      carried = c.loop(c.i64(from), c.i64(to), step, carried, [&](Value index, ValueRange before) {
        SmallVector<Descent> descents;
        for (int64_t i = 0; i < step; ++i)
          descents.push_back({treeAt(c.add(index, i)), features, {}});
        descend(descents);
        SmallVector<Value> after(before);
        for (const Descent &descent : descents)
          if (isSingle)
            after[0] = combined(after[0], weightsAt(leafOf(descent), c.i64(0), 1));
          else
            addLeaf(row, descent);
        return after;
      });
      return isSingle ? carried[0] : Value();
    };
    Value sum = pass(0, whole, together, nothing());
    sum = pass(whole, count, 1, sum);
    if (isSingle)
      e.store(k.outputs[0], at(row, c.i64(0), 1), sum, 1);
  }

  KernelBody &k;
  const TreesSchedule &schedule;
  Emitter &e;
  Code &c;
  TreeEnsembleOp op;
  Type threshold, weight;
  int64_t targets, count, width;
  bool isNarrow; // nodes of 8 bytes
};

} // namespace

Grid emitTrees(KernelBody &k, const TreesSchedule &schedule) { return Trees(k, schedule).run(); }

} // namespace fathom
