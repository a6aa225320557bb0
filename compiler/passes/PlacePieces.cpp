// Concatenations in place: from the last one of a block to the first, so that a whole knows whether it is a piece of
// another before its own pieces are placed.
#include "compiler/passes/PlacePieces.h"

#include "compiler/codegen/common/Layout.h"
#include "compiler/cost/Product.h"
#include "compiler/graph/SizeMath.h"
#include "compiler/kernel/KernelClass.h"
#include "compiler/passes/FuseOps.h"
#include "compiler/passes/Passes.h"
#include "compiler/support/Diagnostics.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom {
#define GEN_PASS_DEF_PLACEPIECESPASS
#include "compiler/passes/Passes.h.inc"

namespace {

constexpr int64_t cacheLine = 64;
// Rows that a kernel reads side by side, about as many as a register tile has.
constexpr double rowsTogether = 16;
// How deep wholes may lie within wholes: what follows them from one to the next takes that long.
constexpr unsigned maxDepth = 256;

RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

// Whether code for an op's kernel goes by strides wherever it reads its operands and writes its result.
bool goesByStrides(Operation *op) {
  if (needsNoKernel(op) && !isInPlace(op))
    return false;
  StringRef name = kernelClassOf(op).name;
  return name != "sequential" && name != "packed_product";
}

// Whether the value, itself or through views, leaves its block.
bool leavesBlock(Value value) {
  SmallVector<Value> same{value};
  while (!same.empty())
    for (Operation *user : same.pop_back_val().getUsers()) {
      if (user->hasTrait<OpTrait::IsTerminator>())
        return true;
      if (isView(user))
        same.push_back(user->getResult(0));
    }
  return false;
}

// Whether the elements of two tensors of equal sizes lie in the same way.
bool sameMemory(RankedTensorType one, RankedTensorType other) {
  Layout a = layoutOf(one), b = layoutOf(other);
  if (a.block || b.block || a.haloLow != b.haloLow || a.haloHigh != b.haloHigh || a.offset != b.offset)
    return false;
  for (auto [d, size] : llvm::enumerate(a.sizes))
    if (!isConstant(size, 1) && a.strides[d] != b.strides[d])
      return false;
  return true;
}

class Placement {
public:
  Placement(func::FuncOp main, const Target &target, const Plan *plan)
      : main(main), target(target), plan(plan), symbols(symbolsFor(main)) {}

  LogicalResult run() {
    SmallVector<ConcatOp> concats;
    main.walk<WalkOrder::PreOrder>([&](ConcatOp concat) { concats.push_back(concat); });
    for (ConcatOp concat : llvm::reverse(concats))
      if (failed(visit(concat)))
        return failure();
    for (const PlannedLayout &layout : plan ? plan->layouts : std::vector<PlannedLayout>())
      if (!layout.within.empty() && !heeded.contains(layout.value))
        return emitError(main.getLoc(), ErrorCode::BadPlan)
               << "layout of '" << layout.value << "': '" << layout.within << "' is no concatenation that has it";
    return success();
  }

private:
  LogicalResult visit(ConcatOp concat) {
    RankedTensorType type = concat.getType();
    int64_t axis = *normalizeAxis(concat.getAxis(), type.getRank());
    if (!plan)
      raiseHalo(concat);
    SmallVector<OpOperand *> placed, copied;
    std::string why;
    llvm::SmallDenseSet<Value> taken;
    for (OpOperand &operand : concat->getOpOperands()) {
      std::string reason = whyCopied(concat, axis, operand);
      Value root = bufferRoot(operand.get());
      bool wants = !plan || (isPlannedWithin(root, concat) && !taken.contains(root));
      if (plan && wants && reason.empty() && !isPlannedAs(root))
        reason = "its order or halo is another";
      if (plan && wants && !reason.empty())
        return emitError(root.getDefiningOp(), ErrorCode::BadPlan)
               << "layout of '" << opName(root.getDefiningOp()) << "': it cannot lie within '" << opName(concat)
               << "': " << reason;
      bool places = wants && reason.empty() && taken.insert(root).second;
      (places ? placed : copied).push_back(&operand);
    }
    if (placed.empty() || (!plan && !pays(concat, axis, placed, copied))) {
      concat.getResult().setType(type);
      return success();
    }
    OpBuilder b(concat);
    for (OpOperand *operand : copied) {
      RankedTensorType wanted = pieceType(concat, axis, operand->get());
      if (!wanted)
        return emitError(concat, ErrorCode::BadPlan)
               << "'" << opName(concat) << "' cannot be in place: its sizes are known only when the model runs";
      auto copy = RelayoutOp::create(b, concat.getLoc(), wanted, operand->get());
      copy->setAttr("graph.name", b.getStringAttr(opName(concat) + ".part" + Twine(operand->getOperandNumber())));
      // Of a constant as well.
      copy->setAttr("graph.output", b.getUnitAttr());
      operand->set(copy);
    }
    for (OpOperand *operand : placed) {
      Value root = bufferRoot(operand->get());
      isPiece.insert(root);
      if (isa<ConcatOp>(root.getDefiningOp()))
        depths[root.getDefiningOp()] = depths.lookup(concat) + 1;
      heeded.insert(opName(root.getDefiningOp()));
      RankedTensorType wanted = pieceType(concat, axis, operand->get());
      if (!sameMemory(typeOf(operand->get()), wanted))
        root.setType(wanted);
    }
    setInPlace(concat);
    return success();
  }

  bool isPlannedWithin(Value root, ConcatOp concat) {
    const PlannedLayout *layout = root.getDefiningOp() ? plan->layoutOf(opName(root.getDefiningOp())) : nullptr;
    return layout && layout->within == opName(concat);
  }

  // A relayout has the layout that its reader needs, whatever a plan says.
  bool isPlannedAs(Value root) {
    const PlannedLayout *planned = plan->layoutOf(opName(root.getDefiningOp()));
    Layout layout = layoutOf(typeOf(root));
    SmallVector<int64_t> halo;
    for (size_t d = 0; d < layout.haloLow.size() && layout.hasHalo(); ++d)
      halo.append({layout.haloLow[d], layout.haloHigh[d]});
    return llvm::equal(planned->order, layout.order) && llvm::equal(planned->halo, halo);
  }

  // The halo that a whole needs for its pieces: each has that of the whole.
  SmallVector<int64_t> piecesHalo(ConcatOp concat, unsigned depth = 0) {
    RankedTensorType type = concat.getType();
    Layout layout = layoutOf(type);
    SmallVector<int64_t> halo;
    for (int64_t d = 0; d < type.getRank(); ++d)
      halo.append({layout.haloLow[d], layout.haloHigh[d]});
    for (Value input : concat.getInputs()) {
      if (orderOf(typeOf(input)) != orderOf(type) || !input.getDefiningOp())
        continue;
      SmallVector<int64_t> other;
      Layout inputLayout = layoutOf(typeOf(input));
      for (int64_t d = 0; d < type.getRank(); ++d)
        other.append({inputLayout.haloLow[d], inputLayout.haloHigh[d]});
      if (auto inner = input.getDefiningOp<ConcatOp>(); inner && depth < maxDepth)
        other = piecesHalo(inner, depth + 1);
      for (auto [all, one] : llvm::zip_equal(halo, other))
        all = std::max(all, one);
    }
    return halo;
  }

  void raiseHalo(ConcatOp concat) {
    if (isPiece.contains(concat.getResult()) || !llvm::all_of(concat->getUsers(), goesByStrides))
      return;
    RankedTensorType type = concat.getType();
    int64_t axis = *normalizeAxis(concat.getAxis(), type.getRank());
    Layout layout = layoutOf(type);
    SmallVector<int64_t> halo = piecesHalo(concat);
    halo[2 * axis] = layout.haloLow[axis], halo[2 * axis + 1] = layout.haloHigh[axis];
    concat.getResult().setType(withLayout(withoutLayout(type), layout.order, 0, halo));
  }

  // The layout of an operand within the concatenation's memory; null where no type can tell it.
  RankedTensorType pieceType(ConcatOp concat, int64_t axis, Value operand) {
    RankedTensorType type = typeOf(operand);
    Layout whole = layoutOf(concat.getType());
    SmallVector<int64_t> halo, room = whole.room;
    for (int64_t d = 0; d < type.getRank(); ++d)
      halo.append({whole.haloLow[d], whole.haloHigh[d]});
    std::optional<int64_t> all = constantSize(whole.sizes[axis]), own = constantSize(sizesOf(type)[axis]);
    // Room behind the outermost dimension makes no difference.
    bool isOutermost = true;
    for (int64_t d : whole.order) {
      if (isOutermost)
        room[d] = 0;
      else if (d == axis && (!all || !own))
        return {};
      else if (d == axis)
        room[d] += *all - *own;
      isOutermost &= isConstant(sizesOf(type)[d], 1) && !whole.haloLow[d] && !whole.haloHigh[d];
    }
    return withLayout(withoutLayout(type), whole.order, 0, halo, room);
  }

  // Why an operand cannot be written where the concatenation has it; empty: it can.
  std::string whyCopied(ConcatOp concat, int64_t axis, OpOperand &operand) {
    Value value = operand.get(), root = bufferRoot(value);
    Operation *maker = root.getDefiningOp();
    Layout whole = layoutOf(concat.getType());
    // Some of them would belong to no piece.
    if (whole.haloLow[axis] || whole.haloHigh[axis])
      return "there are zeros along the axis";
    bool isDataSized = llvm::any_of(whole.sizes, [&](AffineExpr size) { return isComputed(size, symbols); });
    if (isDataSized || (leavesBlock(concat.getResult()) && !isa<func::FuncOp>(concat->getParentOp())))
      return "the result's memory is not planned ahead";
    if (!maker || maker->getBlock() != concat->getBlock() || needsNoKernel(maker) || maker->getNumResults() != 1)
      return "no kernel of the same block writes it";
    if (isPiece.contains(root))
      return "it lies within another tensor";
    if (depths.lookup(concat) >= maxDepth)
      return "too many concatenations lie within each other";
    if (leavesBlock(root))
      return "it is a result of the model, a branch or a loop";
    RankedTensorType wanted = pieceType(concat, axis, value);
    if (!wanted)
      return "its place depends on sizes that are known only when the model runs";
    if (sameMemory(typeOf(value), wanted))
      return "";
    Layout mine = layoutOf(typeOf(value));
    if (plan && (mine.haloLow != whole.haloLow || mine.haloHigh != whole.haloHigh))
      return "its halo is another";
    if (root != value || mine.block || mine.order != whole.order)
      return "its layout is another";
    for (size_t d = 0; d < mine.order.size(); ++d)
      if (mine.haloLow[d] > whole.haloLow[d] || mine.haloHigh[d] > whole.haloHigh[d])
        return "it has more zeros around it";
    if (!goesByStrides(maker) || !llvm::all_of(value.getUsers(), goesByStrides))
      return "a kernel of it needs its elements side by side";
    return plan ? "" : whySlower(value, wanted);
  }

  // Why kernels would be slower with the operand in its place than a copy is.
  std::string whySlower(Value value, RankedTensorType wanted) {
    Layout mine = layoutOf(typeOf(value)), there = layoutOf(wanted);
    int64_t bytes = elementBytes(wanted.getElementType()), run = bytes;
    // What lies side by side, and the dimension that steps from one such run to the next.
    auto outer = llvm::reverse(there.order).begin();
    for (auto end = llvm::reverse(there.order).end(); outer != end;) {
      int64_t d = *outer++;
      run *= constantSize(there.sizes[d]).value_or(cacheLine);
      if (there.room[d])
        break;
    }
    if (run < cacheLine)
      return "so few of its elements lie side by side there";
    // What others read should not lie so that its rows throw each other out of the cache.
    auto collides = [&](const Layout &layout) {
      for (auto it = outer, end = llvm::reverse(there.order).end(); it != end; ++it)
        if (!isConstant(layout.sizes[*it], 1))
          return cost::linesCollide(rowsTogether, constantSize(layout.strides[*it]).value_or(0) * bytes,
                                    target.caches[0]);
      return false;
    };
    bool hasReaders = llvm::any_of(value.getUsers(), [](Operation *user) { return !isa<ConcatOp>(user); });
    if (hasReaders && collides(there) && !collides(mine))
      return "its rows would collide in the cache";
    return "";
  }

  // Whether it is better to write some operands in place and to copy the others than to copy all in one kernel.
  bool pays(ConcatOp concat, int64_t axis, ArrayRef<OpOperand *> placed, ArrayRef<OpOperand *> copied) {
    if (copied.empty())
      return true;
    // Copying would have been free: the kernel that reads the result would have read its operands.
    auto takesOver = [&](Operation *user) {
      return user->hasTrait<Elementwise>() && sizesOf(user->getResult(0)) == sizesOf(concat.getType());
    };
    if (concat->hasOneUse() && takesOver(*concat->user_begin()))
      return false;
    auto total = [&](ArrayRef<OpOperand *> operands) {
      std::optional<int64_t> sum = 0;
      for (OpOperand *operand : operands)
        if (auto size = constantSize(sizesOf(operand->get())[axis]); size && sum)
          *sum += *size;
        else
          sum = std::nullopt;
      return sum;
    };
    auto kept = total(placed), moved = total(copied);
    return kept && moved && *moved <= *kept && copied.size() <= placed.size();
  }

  func::FuncOp main;
  const Target &target;
  const Plan *plan;
  SmallVector<Symbol> symbols;
  DenseSet<Value> isPiece;
  DenseMap<Operation *, unsigned> depths; // of wholes within wholes
  llvm::StringSet<> heeded;
};

struct PlacePiecesPass : impl::PlacePiecesPassBase<PlacePiecesPass> {
  using PlacePiecesPassBase::PlacePiecesPassBase;
  void runOnOperation() override {
    auto machine = parseTarget(target);
    if (!machine) {
      emitError(getOperation().getLoc(), ErrorCode::BadTarget) << llvm::toString(machine.takeError());
      return signalPassFailure();
    }
    if (failed(placePieces(getOperation(), *machine, nullptr)))
      signalPassFailure();
  }
};

} // namespace

LogicalResult placePieces(func::FuncOp main, const Target &target, const Plan *plan) {
  return Placement(main, target, plan).run();
}

} // namespace fathom
