// Layout assignment, one walk in the order of the data.
#include "compiler/plan/ConvertLayout.h"

#include "compiler/graph/Layout.h"
#include "compiler/graph/Pieces.h"
#include "compiler/graph/ReshapedOrder.h"
#include "compiler/kernel/ConvAlgorithm.h"
#include "compiler/kernel/KernelClass.h"
#include "compiler/kernel/TransposedConv.h"
#include "compiler/passes/Passes.h"
#include "compiler/plan/AttentionChoice.h"
#include "compiler/plan/PixelRegions.h"
#include "compiler/support/Diagnostics.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom {
#define GEN_PASS_DEF_CONVERTLAYOUTPASS
#include "compiler/passes/Passes.h.inc"

bool keepsRows(Operation *op) {
  if (isa<ConvTransposeOp>(op))
    return !isConvolution(op);
  return isa<GatherOp, GatherNDOp, GatherElementsOp, OneHotOp, TopKOp, ScatterNDOp, ScatterElementsOp, NonZeroOp,
             NonMaxSuppressionOp, UniqueOp, TensorScatterOp, MatMulNBitsOp, TreeEnsembleOp>(op);
}

SmallVector<int64_t> flowingOrder(Operation *op, RankedTensorType type) {
  SmallVector<int64_t> identity = llvm::to_vector(llvm::seq<int64_t>(0, type.getRank()));
  if (keepsRows(op))
    return identity;
  for (Value operand : op->getOperands()) {
    auto operandType = dyn_cast<RankedTensorType>(operand.getType());
    if (!operandType || operandType.getRank() != type.getRank())
      continue;
    bool whole = op->hasTrait<Elementwise>() ? sizesOf(operandType) == sizesOf(type) : true;
    if (whole && orderOf(operandType) != identity)
      return orderOf(operandType);
  }
  return identity;
}

namespace {

class LayoutAssignment {
public:
  LayoutAssignment(func::FuncOp main, const Target &target, Chooser &chooser)
      : main(main), target(target), chooser(chooser), b(main.getContext()) {}

  LogicalResult run() {
    isPixels = choosePixelRegions(main);
    main.walk([&](ConvOp conv) { noteHalo(conv); });
    main.walk([&](WinogradConvOp conv) { noteHalo(conv); });
    main.walk([&](ConvTransposeOp conv) {
      if (isConvolution(conv))
        noteHalo(conv.getInput(), phaseHalo(conv));
    });
    noteAttentionCosts(main, target);
    if (failed(visitBlock(main.getBody().front())))
      return failure();
    return chooser.endLayouts(main.getLoc());
  }

private:
  LogicalResult visitBlock(Block &block) {
    for (Operation &op : llvm::make_early_inc_range(block))
      if (failed(visit(&op)))
        return failure();
    return success();
  }

  // The zeros that convolutions need around their input.
  static SmallVector<int64_t> haloOf(ConvOp conv, const Window &window) {
    int64_t rank = conv.getType().getRank();
    SmallVector<int64_t> halo(2 * rank);
    for (size_t d = 0; d < window.kernel.size(); ++d)
      halo[2 * (2 + d)] = window.padsBegin[d], halo[2 * (2 + d) + 1] = window.padsEnd[d];
    // Those of single channels leave out what lies outside, at the ends of rows where they can.
    if (isDepthwise(conv))
      std::fill(halo.begin(), halo.end() - (leavesOutEnds(conv) ? 0 : 2), 0);
    return halo;
  }
  void noteHalo(ConvOp conv) {
    if (auto window = getWindow(conv); succeeded(window))
      noteHalo(conv.getInput(), haloOf(conv, *window));
  }
  void noteHalo(Value input, ArrayRef<int64_t> needed) {
    SmallVector<int64_t> &halo = halos[input];
    halo.resize(needed.size());
    for (auto [all, mine] : llvm::zip_equal(halo, needed))
      all = std::max({all, mine, int64_t(0)});
  }
  static bool hasHalo(RankedTensorType type, ArrayRef<int64_t> needed) {
    Layout layout = layoutOf(type);
    for (int64_t d = 0; d < type.getRank(); ++d)
      if (layout.haloLow[d] < needed[2 * d] || layout.haloHigh[d] < needed[2 * d + 1])
        return false;
    return true;
  }

  // Tiles are read whole, also where the image ends inside one.
  static SmallVector<int64_t> haloOf(WinogradConvOp conv) {
    SmallVector<int64_t> halo(8);
    for (int64_t d = 0; d < 2; ++d) {
      std::optional<int64_t> size = constantSize(sizesOf(conv.getType())[2 + d]);
      int64_t rest = size ? llvm::alignTo(*size, conv.getTile()) - *size : conv.getTile() - 1;
      halo[4 + 2 * d] = conv.getPads()[d], halo[5 + 2 * d] = conv.getPads()[2 + d] + rest;
    }
    return halo;
  }
  void noteHalo(WinogradConvOp conv) { noteHalo(conv.getInput(), haloOf(conv)); }

  static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

  // The operand in this layout, through a relayout where it is not.
  Value relayout(Operation *user, Value value, RankedTensorType type, StringRef suffix) {
    if (value.getType() == type)
      return value;
    // A relayout made in a branch is not there for what comes after it.
    Value &made = relayouts[{user->getBlock(), value, type}];
    if (!made) {
      b.setInsertionPoint(user);
      auto op = RelayoutOp::create(b, value.getLoc(), type, value);
      // Named after the value, so that the same relayout has the same name in every plan of the model.
      std::string base = value.getDefiningOp() ? opName(value.getDefiningOp()).str() : argumentName(value);
      op->setAttr("graph.name", b.getStringAttr(unique(base + "." + suffix.str())));
      made = op;
    }
    return made;
  }
  std::string argumentName(Value value) {
    if (value.getParentBlock() != &main.getBody().front())
      return opName(value.getParentBlock()->getParentOp()).str() + ".argument" +
             std::to_string(cast<BlockArgument>(value).getArgNumber());
    unsigned number = cast<BlockArgument>(value).getArgNumber();
    auto name = main.getArgAttrOfType<StringAttr>(number, "graph.name");
    return name ? name.str() : "argument" + std::to_string(number);
  }
  std::string unique(std::string name) {
    unsigned &count = names[name];
    return count++ ? name + "." + std::to_string(count) : name;
  }
  Value rowMajor(Operation *user, Value value) {
    return isRowMajor(typeOf(value)) ? value : relayout(user, value, withoutLayout(typeOf(value)), "rows");
  }

  // Sets a result's order and the halo that its consumers need.
  LogicalResult assign(Value result, ArrayRef<int64_t> order) {
    auto type = withoutLayout(typeOf(result));
    ArrayRef<int64_t> halo;
    if (auto found = halos.find(result); found != halos.end() && llvm::equal(order, channelsLast(type.getRank())))
      halo = found->second;
    FailureOr<LayoutChoice> choice = chooser.layout(result, {llvm::to_vector(order), llvm::to_vector(halo)});
    if (failed(choice))
      return failure();
    result.setType(withLayout(type, choice->order, 0, choice->halo));
    return success();
  }

  LogicalResult visit(Operation *op) {
    if (auto conv = dyn_cast<ConvOp>(op))
      return visitConv(conv);
    if (auto conv = dyn_cast<WinogradConvOp>(op))
      return visitWinograd(conv);
    if (auto conv = dyn_cast<ConvTransposeOp>(op); conv && isConvolution(conv))
      return visitTransposedConv(conv);
    if (auto matmul = dyn_cast<MatMulOp>(op))
      return visitMatMul(matmul);
    if (auto matmul = dyn_cast<StrassenOp>(op))
      return visitStrassen(matmul);
    if (auto transpose = dyn_cast<TransposeOp>(op))
      return visitTranspose(transpose);
    if (isa<ReshapeOp, FlattenOp, SqueezeOp, UnsqueezeOp>(op)) {
      visitReshape(op);
      return success();
    }
    // What crosses the border of a block is row-major.
    if (isa<func::ReturnOp, YieldOp, PinOp, IfOp, LoopOp>(op)) {
      for (OpOperand &operand : op->getOpOperands())
        if (!isa<NoneType>(operand.get().getType()))
          operand.set(rowMajor(op, operand.get()));
      for (Region &region : op->getRegions())
        if (failed(visitBlock(region.front())))
          return failure();
      return success();
    }
    if (isa<ConstantOp, NoneOp, SizesOp, RelayoutOp, AssertOp>(op))
      return success();
    for (Value result : op->getResults()) {
      auto type = dyn_cast<RankedTensorType>(result.getType());
      if (type && failed(assign(result, orderOfResult(op, type))))
        return failure();
    }
    return success();
  }

  // An order that comes from operands is kept, except that an elementwise op can change between pixels and rows.
  SmallVector<int64_t> orderOfResult(Operation *op, RankedTensorType type) {
    SmallVector<int64_t> order = flowingOrder(op, type);
    auto chosen = op->hasTrait<Elementwise>() ? isPixels.find(op->getResult(0)) : isPixels.end();
    if (chosen == isPixels.end())
      return order;
    SmallVector<int64_t> rows = llvm::to_vector(llvm::seq<int64_t>(0, type.getRank()));
    SmallVector<int64_t> pixels = channelsLast(type.getRank());
    if (order != rows && order != pixels)
      return order;
    return chosen->second ? pixels : rows;
  }

  LogicalResult visitConv(ConvOp conv) {
    auto window = getWindow(conv);
    if (failed(window))
      return failure();
    int64_t rank = conv.getType().getRank();
    SmallVector<int64_t> order = channelsLast(rank);
    for (size_t d = 0; d < window->kernel.size(); ++d)
      if (window->padsBegin[d] < 0 || window->padsEnd[d] < 0)
        return emitError(conv, ErrorCode::UnsupportedAttribute) << "negative padding of a convolution";
    readPixels(conv, conv.getInputMutable(), haloOf(conv, *window));
    auto weight = typeOf(conv.getWeight());
    if (isDepthwise(conv)) {
      SmallVector<int64_t> byChannel = llvm::to_vector(llvm::seq<int64_t>(2, rank));
      byChannel.append({1, 0});
      conv.getWeightMutable().assign(relayout(conv, conv.getWeight(), withLayout(weight, byChannel), "packed"));
    } else {
      FailureOr<int64_t> panel = panelOf(conv);
      if (failed(panel))
        return failure();
      SmallVector<int64_t> packed{0};
      llvm::append_range(packed, llvm::seq<int64_t>(2, rank));
      packed.append({1, 0});
      conv.getWeightMutable().assign(
          relayout(conv, conv.getWeight(), withLayout(withoutLayout(weight), packed, *panel), "packed"));
    }
    return assign(conv.getResult(), order);
  }

  LogicalResult visitWinograd(WinogradConvOp conv) {
    SmallVector<int64_t> order = channelsLast(4);
    readPixels(conv, conv.getInputMutable(), haloOf(conv));
    FailureOr<int64_t> panel = panelOf(conv);
    if (failed(panel))
      return failure();
    // A panel's weights for all positions of a tile follow each other: they are read in this order.
    auto weight = withLayout(withoutLayout(typeOf(conv.getWeight())), {2, 0, 1, 2}, *panel);
    conv.getWeightMutable().assign(relayout(conv, conv.getWeight(), weight, "packed"));
    return assign(conv.getResult(), order);
  }

  LogicalResult visitTransposedConv(ConvTransposeOp conv) {
    int64_t rank = conv.getType().getRank();
    SmallVector<int64_t> order = channelsLast(rank);
    readPixels(conv, conv.getInputMutable(), phaseHalo(conv));
    int64_t bits = std::max(32u, conv.getType().getElementType().getIntOrFloatBitWidth());
    bool sideBySide = standsSideBySide(conv, target.lanes(bits));
    FailureOr<int64_t> panel = panelOf(conv);
    if (failed(panel))
      return failure();
    auto weight = withLayout(withoutLayout(typeOf(conv.getWeight())), phaseWeightOrder(rank, sideBySide),
                             sideBySide ? 0 : *panel);
    conv.getWeightMutable().assign(relayout(conv, conv.getWeight(), weight, "packed"));
    return assign(conv.getResult(), order);
  }

  // An operand's channels lie innermost, with these zeros around each image.
  void readPixels(Operation *op, OpOperand &operand, ArrayRef<int64_t> halo) {
    Value input = operand.get();
    auto type = typeOf(input);
    SmallVector<int64_t> order = channelsLast(type.getRank());
    if (orderOf(type) != order || !hasHalo(type, halo))
      operand.set(relayout(op, input, withLayout(withoutLayout(type), order, 0, halos[input]), "pixels"));
  }

  LogicalResult visitMatMul(MatMulOp op) {
    auto right = typeOf(op.getRhs());
    readRows(op);
    FailureOr<int64_t> panel = panelOf(op);
    if (failed(panel))
      return failure();
    int64_t rank = right.getRank();
    SmallVector<int64_t> packed = llvm::to_vector(llvm::seq<int64_t>(0, rank - 2));
    packed.append({rank - 1, rank - 2, rank - 1});
    op.getRhsMutable().assign(relayout(op, op.getRhs(), withLayout(withoutLayout(right), packed, *panel), "packed"));
    return assign(op.getResult(), orderOfProduct(op));
  }

  LogicalResult visitStrassen(StrassenOp op) {
    SmallVector<int64_t> order = channelsLast(op.getType().getRank());
    auto left = typeOf(op.getLhs());
    if (!op.isOfPixels())
      readRows(op);
    else if (orderOf(left) != order)
      op.getLhsMutable().assign(
          relayout(op, op.getLhs(), withLayout(withoutLayout(left), order, 0, halos[op.getLhs()]), "pixels"));
    FailureOr<int64_t> panel = panelOf(op);
    if (failed(panel))
      return failure();
    // A panel's parts of all factors follow each other: they are read in this order.
    auto weight = withLayout(withoutLayout(typeOf(op.getWeight())), {2, 0, 1, 2}, *panel);
    op.getWeightMutable().assign(relayout(op, op.getWeight(), weight, "packed"));
    return assign(op.getResult(), op.isOfPixels() ? order : orderOfProduct(op));
  }

  // The elements of a product's rows lie side by side.
  void readRows(Operation *product) {
    Value lhs = product->getOperand(0);
    auto type = typeOf(lhs);
    if (orderOf(type).back() != type.getRank() - 1 || layoutOf(type).haloLow.back() || layoutOf(type).haloHigh.back())
      product->setOperand(0, relayout(product, lhs, withoutLayout(type), "rows"));
  }

  // A result that is only ever seen transposed is stored so that the transpose is row-major.
  static SmallVector<int64_t> orderOfProduct(Operation *product) {
    int64_t rank = typeOf(product->getResult(0)).getRank();
    if (product->hasOneUse())
      if (auto transpose = dyn_cast<TransposeOp>(*product->user_begin());
          transpose && transpose.getPerm() && transpose.getPerm()->back() == rank - 1)
        return llvm::to_vector(*transpose.getPerm());
    return llvm::to_vector(llvm::seq<int64_t>(0, rank));
  }

  LogicalResult visitTranspose(TransposeOp op) {
    auto type = typeOf(op.getInput());
    Layout layout = layoutOf(type);
    int64_t rank = type.getRank();
    SmallVector<int64_t> place(rank), order, halo;
    for (int64_t j = 0; j < rank; ++j) {
      int64_t from = op.getPerm() ? (*op.getPerm())[j] : rank - 1 - j;
      place[from] = j;
      halo.append({layout.haloLow[from], layout.haloHigh[from]});
    }
    for (int64_t d : layout.order)
      order.push_back(place[d]);
    op.getResult().setType(withLayout(withoutLayout(op.getType()), order, 0, halo));
    return success();
  }

  // A view of what its input has in memory, in whatever order that is; where no order describes the result, of rows.
  void visitReshape(Operation *op) {
    auto type = typeOf(op->getOperand(0)), result = withoutLayout(typeOf(op->getResult(0)));
    std::optional<SmallVector<int64_t>> order;
    if (!isRowMajor(type))
      order = viewedOrder(op, type);
    if (order)
      op->getResult(0).setType(withLayout(result, *order));
    else
      op->setOperand(0, rowMajor(op, op->getOperand(0)));
  }

  // The attention whose kernel computes this product, if one does.
  std::optional<Attention> attentionIn(Operation *op) {
    std::optional<Attention> attention = attentionAround(op);
    return attention && chooser.fuses(*attention) ? attention : std::nullopt;
  }

  // The width of the packed panels: the schedule's tile of columns.
  FailureOr<int64_t> panelOf(Operation *op) {
    std::optional<Attention> attention = attentionIn(op);
    Operation *anchor = attention ? attention->product : op;
    // Where its parts are kernels of their own, it ends in an ordinary product.
    bool isAlone = isa<MatMulOp>(op) && !attention;
    const KernelClass &klass = isAlone ? *findKernelClass("contract") : kernelClassOf(anchor);
    return chooser.panelWidth(op, klass, anchor);
  }

  func::FuncOp main;
  const Target &target;
  Chooser &chooser;
  OpBuilder b;
  DenseMap<Value, bool> isPixels;
  DenseMap<Value, SmallVector<int64_t>> halos;
  DenseMap<std::tuple<Block *, Value, Type>, Value> relayouts;
  llvm::StringMap<unsigned> names;
};

struct ConvertLayoutPass : impl::ConvertLayoutPassBase<ConvertLayoutPass> {
  using ConvertLayoutPassBase::ConvertLayoutPassBase;
  void runOnOperation() override {
    auto machine = parseTarget(target);
    if (!machine) {
      emitError(getOperation().getLoc(), ErrorCode::BadTarget) << llvm::toString(machine.takeError());
      return signalPassFailure();
    }
    if (failed(assignLayouts(getOperation(), *machine, *draftChooser(*machine))))
      signalPassFailure();
  }
};

} // namespace

LogicalResult assignLayouts(func::FuncOp main, const Target &target, Chooser &chooser) {
  return LayoutAssignment(main, target, chooser).run();
}

} // namespace fathom
