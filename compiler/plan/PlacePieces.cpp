// Concatenations in place, from the last one of a block to the first, so that a whole knows whether it is a piece of
// another before its own pieces are placed; then slices, which lie where their input does.
#include "compiler/graph/Layout.h"
#include "compiler/graph/Pieces.h"
#include "compiler/graph/SizeMath.h"
#include "compiler/kernel/Backend.h"
#include "compiler/passes/Passes.h"
#include "compiler/plan/Chooser.h"
#include "compiler/plan/FuseOps.h"
#include "compiler/plan/PieceRules.h"
#include "compiler/support/Diagnostics.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom {
#define GEN_PASS_DEF_PLACEPIECESPASS
#include "compiler/passes/Passes.h.inc"

namespace {

// How deep wholes may lie within wholes: what follows them from one to the next takes that long.
constexpr unsigned maxDepth = 256;

constexpr llvm::StringLiteral unaligned = "parts would begin where the target's kernels cannot read them";

RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

bool haveSameHalo(const Layout &a, const Layout &b) { return a.haloLow == b.haloLow && a.haloHigh == b.haloHigh; }

class Placement {
public:
  Placement(func::FuncOp main, const Target &target, Chooser &chooser)
      : main(main), target(target), backend(backendOf(target)), chooser(chooser), symbols(symbolsFor(main)) {}

  LogicalResult run() {
    SmallVector<SliceOp> slices;
    main.walk<WalkOrder::PreOrder>([&](SliceOp slice) { slices.push_back(slice); });
    if (chooser.placesByCost())
      for (SliceOp slice : llvm::reverse(slices))
        raiseInputHalo(slice);
    SmallVector<ConcatOp> concats;
    main.walk<WalkOrder::PreOrder>([&](ConcatOp concat) { concats.push_back(concat); });
    for (ConcatOp concat : llvm::reverse(concats))
      if (failed(visit(concat)))
        return failure();
    if (failed(chooser.endPieces(main.getLoc())))
      return failure();
    // Where their inputs lie is known now.
    for (SliceOp slice : slices)
      visit(slice);
    return success();
  }

private:
  LogicalResult visit(ConcatOp concat) {
    RankedTensorType type = concat.getType();
    int64_t axis = *normalizeAxis(concat.getAxis(), type.getRank());
    if (chooser.placesByCost())
      raiseHalo(concat);
    SmallVector<OpOperand *> placed, copied;
    llvm::SmallDenseSet<Value> taken;
    bool canBegin = allBeginAligned(concat, axis);
    for (OpOperand &operand : concat->getOpOperands()) {
      std::string reason = canBegin ? whyCopied(concat, axis, operand) : unaligned.str();
      Value root = bufferRoot(operand.get());
      Placing placing = chooser.placing(root, concat);
      bool wants = placing != Placing::Never && !taken.contains(root);
      if (wants && reason.empty() && !chooser.isAsChosen(root))
        reason = "its order or halo is another";
      if (placing == Placing::Always && wants && !reason.empty())
        return emitError(root.getDefiningOp(), ErrorCode::BadPlan)
               << "layout of '" << opName(root.getDefiningOp()) << "': it cannot lie within '" << opName(concat)
               << "': " << reason;
      bool places = wants && reason.empty() && taken.insert(root).second;
      (places ? placed : copied).push_back(&operand);
    }
    if (placed.empty() || (chooser.placesByCost() && !pays(concat, axis, placed, copied))) {
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
      RankedTensorType wanted = pieceType(concat, axis, operand->get());
      if (!sameMemory(typeOf(operand->get()), wanted))
        root.setType(wanted);
    }
    setInPlace(concat);
    return success();
  }

  // Zeros that are needed around a slice are written around its input.
  void raiseInputHalo(SliceOp slice) {
    Value input = slice.getInput();
    RankedTensorType type = typeOf(input);
    Layout mine = layoutOf(slice.getType()), whole = layoutOf(type);
    RankedTensorType there = sliceType(slice);
    Operation *maker = input.getDefiningOp();
    if (!mine.hasHalo() || !there || mine.order != whole.order || !maker || isa<RelayoutOp>(maker) ||
        maker->getNumResults() != 1 || !goesByStrides(maker, backend) || !allGoByStrides(input.getUsers()))
      return;
    SmallVector<int64_t> halo;
    auto ranges = getSlice(slice);
    for (int64_t d = 0; d < type.getRank(); ++d) {
      bool isCut = (*ranges)[d].size != whole.sizes[d];
      halo.append({isCut ? whole.haloLow[d] : std::max(whole.haloLow[d], mine.haloLow[d]),
                   isCut ? whole.haloHigh[d] : std::max(whole.haloHigh[d], mine.haloHigh[d])});
    }
    input.setType(withLayout(withoutLayout(type), whole.order, 0, halo));
  }

  void visit(SliceOp slice) {
    if (chooser.copies(slice))
      return;
    RankedTensorType there = sliceType(slice);
    if (!there || !whyCopied(slice, there).empty())
      return;
    slice.getResult().setType(there);
    setInPlace(slice);
  }

  // Why a slice cannot be read where its input has it; empty: it can.
  std::string whyCopied(SliceOp slice, RankedTensorType there) {
    Operation *maker = bufferRoot(slice.getInput()).getDefiningOp();
    if (maker && needsNoKernel(maker) && !isControl(maker) && !isInPlace(maker))
      return "its input is no tensor in memory";
    if (isPiece.contains(slice.getResult()))
      return "it is written into another tensor";
    if (leavesBlock(slice.getResult()))
      return "it is a result of the model, a branch or a loop";
    RankedTensorType type = slice.getType();
    Layout mine = layoutOf(type), whole = layoutOf(there);
    for (size_t d = 0; d < mine.order.size(); ++d)
      if (mine.haloLow[d] > whole.haloLow[d] || mine.haloHigh[d] > whole.haloHigh[d])
        return "it has more zeros around it";
    if (!isAligned(offsetOf(slice)))
      return unaligned.str();
    if (sameMemory(type, there))
      return "";
    if (mine.order != whole.order || (!chooser.placesByCost() && !haveSameHalo(mine, whole)))
      return "its layout is another";
    if (!allGoByStrides(slice->getUsers()) || !keepsQuads(slice.getResult(), there))
      return "a kernel needs its elements side by side";
    return chooser.placesByCost() ? whySlower(slice.getResult(), there, target) : "";
  }

  // The halo that a whole needs for its pieces, and those for theirs: each has that of the whole.
  SmallVector<int64_t> piecesHalo(ConcatOp concat) {
    SmallVector<int64_t> halo(2 * concat.getType().getRank());
    auto include = [&](RankedTensorType type) {
      Layout layout = layoutOf(type);
      for (int64_t d = 0; d < type.getRank(); ++d) {
        halo[2 * d] = std::max(halo[2 * d], layout.haloLow[d]);
        halo[2 * d + 1] = std::max(halo[2 * d + 1], layout.haloHigh[d]);
      }
    };
    include(concat.getType());
    // Every concatenation once: there are more ways to one than there are concatenations.
    llvm::SmallSetVector<Operation *, 8> wholes;
    wholes.insert(concat);
    for (size_t i = 0; i < wholes.size() && i < maxDepth; ++i)
      for (Value input : wholes[i]->getOperands()) {
        if (orderOf(typeOf(input)) != orderOf(concat.getType()) || !input.getDefiningOp())
          continue;
        include(typeOf(input));
        if (isa<ConcatOp>(input.getDefiningOp()))
          wholes.insert(input.getDefiningOp());
      }
    return halo;
  }

  void raiseHalo(ConcatOp concat) {
    if (isPiece.contains(concat.getResult()) || !allGoByStrides(concat->getUsers()))
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
    if (!chooser.placesByCost() && !haveSameHalo(mine, whole))
      return "its halo is another";
    if (root != value || mine.block || mine.order != whole.order)
      return "its layout is another";
    for (size_t d = 0; d < mine.order.size(); ++d)
      if (mine.haloLow[d] > whole.haloLow[d] || mine.haloHigh[d] > whole.haloHigh[d])
        return "it has more zeros around it";
    if (!goesByStrides(maker, backend) || !allGoByStrides(value.getUsers()) || !keepsQuads(value, wanted))
      return "a kernel of it needs its elements side by side";
    return chooser.placesByCost() ? whySlower(value, wanted, target) : "";
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

  bool isAligned(AffineExpr bytes) { return bytes.getLargestKnownDivisor() % backend.alignment() == 0; }
  // All or none: what is copied into its part is written by a kernel, too.
  bool allBeginAligned(ConcatOp concat, int64_t axis) {
    RankedTensorType type = concat.getType();
    AffineExpr step = layoutOf(type).strides[axis] * elementBytes(type.getElementType());
    return llvm::all_of(concat.getInputs().drop_back(),
                        [&](Value before) { return isAligned(sizesOf(before)[axis] * step); });
  }

  template <typename Users> bool allGoByStrides(Users users) {
    return llvm::all_of(users, [&](Operation *user) { return goesByStrides(user, backend); });
  }

  func::FuncOp main;
  const Target &target;
  const Backend &backend;
  Chooser &chooser;
  SymbolList symbols;
  DenseSet<Value> isPiece;
  DenseMap<Operation *, unsigned> depths; // of wholes within wholes
};

struct PlacePiecesPass : impl::PlacePiecesPassBase<PlacePiecesPass> {
  // Layouts are assigned already.
  LogicalResult runOnFunction(func::FuncOp function) override {
    return Placement(function, context().target, *context().chooser).run();
  }
};

} // namespace
} // namespace fathom
