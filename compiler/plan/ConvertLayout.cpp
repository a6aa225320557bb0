// Layout assignment, one walk in the order of the data.
#include "compiler/plan/ConvertLayout.h"

#include "compiler/graph/Layout.h"
#include "compiler/graph/Pieces.h"
#include "compiler/graph/ReshapedOrder.h"
#include "compiler/kernel/Backend.h"
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
  return isa<ConvTransposeOp, GatherOp, GatherNDOp, GatherElementsOp, OneHotOp, TopKOp, ScatterNDOp, ScatterElementsOp,
             NonZeroOp, NonMaxSuppressionOp, UniqueOp, TensorScatterOp, MatMulNBitsOp, TreeEnsembleOp>(op);
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
      : main(main), target(target), backend(backendOf(target)), chooser(chooser), b(main.getContext()) {}

  LogicalResult run() {
    isPixels = choosePixelRegions(main, backend, target);
    main.walk([&](Operation *op) {
      if (std::optional<AnchorLayouts> wanted = backend.layoutsOf(op, target))
        for (const OperandLayout &layout : wanted->operands)
          noteHalo(op->getOperand(layout.operand), layout.halo);
    });
    noteAttentionCosts(main, target);
    fromBorder.insert_range(main.getArguments());
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

  // The zeros that its readers need around a tensor, all together.
  void noteHalo(Value input, ArrayRef<int64_t> needed) {
    if (needed.empty())
      return;
    SmallVector<int64_t> &halo = halos[input];
    halo.resize(needed.size());
    for (auto [all, mine] : llvm::zip_equal(halo, needed))
      all = std::max({all, mine, int64_t(0)});
  }
  static bool hasHalo(RankedTensorType type, ArrayRef<int64_t> needed) {
    Layout layout = layoutOf(type);
    for (int64_t d = 0; d < int64_t(needed.size() / 2); ++d)
      if (layout.haloLow[d] < needed[2 * d] || layout.haloHigh[d] < needed[2 * d + 1])
        return false;
    return true;
  }

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
    if (auto conv = dyn_cast<ConvOp>(op); conv && failed(checkWindow(conv)))
      return failure();
    if (std::optional<AnchorLayouts> wanted = backend.layoutsOf(op, target))
      return visitAnchor(op, *wanted);
    if (auto transpose = dyn_cast<TransposeOp>(op))
      return visitTranspose(transpose);
    if (isReshape(op)) {
      visitReshape(op);
      return success();
    }
    // What crosses the border of a block is row-major.
    if (op->hasTrait<OpTrait::IsTerminator>() || isa<PinOp>(op) || isControl(op)) {
      for (OpOperand &operand : op->getOpOperands())
        if (!isa<NoneType>(operand.get().getType()))
          operand.set(rowMajor(op, operand.get()));
      for (Region &region : op->getRegions())
        if (failed(visitBlock(region.front())))
          return failure();
      return success();
    }
    if (isKnown(op) || isa<RelayoutOp, AssertOp>(op))
      return success();
    for (Value result : op->getResults()) {
      auto type = dyn_cast<RankedTensorType>(result.getType());
      if (type && failed(assign(result, orderOfResult(op, type))))
        return failure();
      if (type && readsBorder(op, type) && orderOf(typeOf(result)) == rowsOf(type))
        fromBorder.insert(result);
    }
    return success();
  }

  static SmallVector<int64_t> rowsOf(RankedTensorType type) {
    return llvm::to_vector(llvm::seq<int64_t>(0, type.getRank()));
  }

  // An elementwise op of as many elements as the model's input that it reads, directly or by other such ops.
  bool readsBorder(Operation *op, RankedTensorType type) const {
    return op->hasTrait<Elementwise>() && llvm::any_of(op->getOperands(), [&](Value operand) {
             return fromBorder.contains(operand) && sizesOf(operand) == sizesOf(type);
           });
  }

  // An order that comes from operands is kept, except that an elementwise op can change between pixels and rows.
  SmallVector<int64_t> orderOfResult(Operation *op, RankedTensorType type) {
    SmallVector<int64_t> order = flowingOrder(op, type);
    if (!op->hasTrait<Elementwise>())
      return order;
    SmallVector<int64_t> rows = rowsOf(type);
    bool isPixelOrder = type.getRank() > 2 && order == channelsLast(type.getRank());
    // A weight and its gradient: the next weight leaves the model, in rows as the one before came.
    if (order != rows && !isPixelOrder)
      return readsBorder(op, type) ? rows : order;
    auto chosen = isPixels.find(op->getResult(0));
    if (chosen == isPixels.end())
      return order;
    return chosen->second ? channelsLast(type.getRank()) : rows;
  }

  static LogicalResult checkWindow(ConvOp conv) {
    auto window = getWindow(conv);
    if (failed(window))
      return failure();
    for (size_t d = 0; d < window->kernel.size(); ++d)
      if (window->padsBegin[d] < 0 || window->padsEnd[d] < 0)
        return emitError(conv, ErrorCode::UnsupportedAttribute) << "negative padding of a convolution";
    return success();
  }

  LogicalResult visitAnchor(Operation *op, const AnchorLayouts &wanted) {
    for (const OperandLayout &layout : wanted.operands) {
      OpOperand &operand = op->getOpOperand(layout.operand);
      if (layout.kind == OperandLayout::Pixels)
        readPixels(op, operand, layout.halo);
      else if (layout.kind == OperandLayout::Rows)
        readRows(op, operand);
      else if (failed(readPacked(op, operand, layout)))
        return failure();
    }
    Value result = op->getResult(0);
    return assign(result, wanted.writesPixels ? channelsLast(typeOf(result).getRank()) : orderOfProduct(op));
  }

  // An operand's channels lie innermost, with these zeros around each image.
  void readPixels(Operation *op, OpOperand &operand, ArrayRef<int64_t> halo) {
    Value input = operand.get();
    auto type = typeOf(input);
    SmallVector<int64_t> order = channelsLast(type.getRank());
    if (orderOf(type) != order || !hasHalo(type, halo))
      operand.set(relayout(op, input, withLayout(withoutLayout(type), order, 0, halos[input]), "pixels"));
  }

  // The elements of a product's rows lie side by side.
  void readRows(Operation *product, OpOperand &operand) {
    auto type = typeOf(operand.get());
    if (orderOf(type).back() != type.getRank() - 1 || layoutOf(type).haloLow.back() || layoutOf(type).haloHigh.back())
      operand.set(relayout(product, operand.get(), withoutLayout(type), "rows"));
  }

  LogicalResult readPacked(Operation *op, OpOperand &operand, const OperandLayout &layout) {
    FailureOr<int64_t> panel = layout.inPanels ? panelOf(op) : FailureOr<int64_t>(0);
    if (failed(panel))
      return failure();
    Value input = operand.get();
    auto type = withLayout(withoutLayout(typeOf(input)), layout.order, *panel);
    // Filters that only the run knows, as in training: a panel's lanes are so far apart that every line of theirs would
    // be fetched once for each tap. Squares are turned first, and panels are then made of whole vectors.
    SmallVector<int64_t> order = orderOf(typeOf(input));
    bool hasTaps = isa<ConvOp, ConvTransposeOp>(op) &&
                   llvm::any_of(type.getShape().drop_front(2), [](int64_t taps) { return taps != 1; });
    if (*panel && hasTaps && !input.getDefiningOp<ConstantOp>() && order.back() != layout.order.back()) {
      llvm::erase(order, layout.order.back());
      order.push_back(layout.order.back());
      input = relayout(op, input, withLayout(withoutLayout(typeOf(input)), order), "turned");
    }
    operand.set(relayout(op, input, type, "packed"));
    return success();
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
    const KernelClass &klass = isAlone ? *backend.classFor(Algorithm::Contract) : kernelClassOf(anchor, backend);
    return chooser.panelWidth(op, klass, anchor);
  }

  func::FuncOp main;
  const Target &target;
  const Backend &backend;
  Chooser &chooser;
  OpBuilder b;
  DenseMap<Value, bool> isPixels;
  // Inputs of the model, and what elementwise ops make of them in rows.
  DenseSet<Value> fromBorder;
  DenseMap<Value, SmallVector<int64_t>> halos;
  DenseMap<std::tuple<Block *, Value, Type>, Value> relayouts;
  llvm::StringMap<unsigned> names;
};

// Refuses ops that the back end cannot compute.
LogicalResult checkHasKernels(func::FuncOp main, const Backend &backend) {
  bool hasAll = true;
  main.walk([&](Operation *op) {
    if (op == main || needsNoKernel(op) || backend.classOf(op))
      return;
    hint(emitError(op, ErrorCode::UnsupportedOp)
             << "the back end '" << backend.name() << "' has no kernels for " << op->getName().stripDialect(),
         "compile for a CPU");
    hasAll = false;
  });
  return success(hasAll);
}

struct ConvertLayoutPass : impl::ConvertLayoutPassBase<ConvertLayoutPass> {
  LogicalResult runOnFunction(func::FuncOp function) override {
    const Target &target = context().target;
    if (failed(checkHasKernels(function, backendOf(target))))
      return failure();
    return LayoutAssignment(function, target, *context().chooser).run();
  }
};

} // namespace
} // namespace fathom
