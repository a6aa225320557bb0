// Counts what networks are built of (residual sums, depthwise convolutions, attention, ...) in one walk, and reads the
// classes off the counts.
#include "compiler/passes/select/Classes.h"

#include "compiler/graph/Views.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom {
namespace {

// How far is looked from one op to the next: chains between the parts of a block are short.
constexpr unsigned horizon = 12;

struct Counts {
  int64_t convolutions = 0, windows = 0, depthwise = 0, patches = 0, sums = 0, joins = 0, dense = 0, inceptions = 0;
  int64_t attentions = 0, caches = 0, masks = 0, tables = 0, loops = 0, selections = 0, upsamplings = 0, groupNorms = 0;
};

RankedTensorType typeOf(Value value) { return dyn_cast<RankedTensorType>(value.getType()); }
bool isImage(Value value) { return typeOf(value) && typeOf(value).getRank() == 4; }

// What hands on one tensor, perhaps with others that are small or constant.
bool handsOn(Operation *op) {
  return op->hasTrait<Elementwise>() || isReshape(op) || isa<TransposeOp, IdentityOp, ExpandOp>(op);
}

// Back from a value through such ops to one that is something else; null at the border or where it is too far.
Operation *sourceOf(Value value) {
  Operation *op = value.getDefiningOp();
  for (unsigned i = 0; op && handsOn(op) && i < horizon; ++i) {
    Value next;
    for (Value operand : op->getOperands())
      if (!next && typeOf(operand) && isa<FloatType>(typeOf(operand).getElementType()) && !isConstantValue(operand))
        next = operand;
    op = next ? next.getDefiningOp() : nullptr;
  }
  return op && !handsOn(op) ? op : nullptr;
}

// A softmax of what a product of two tensors gave, whose result goes into a product.
bool isAttention(SoftmaxOp softmax) {
  auto isProduct = [](Operation *op) {
    return isa_and_nonnull<MatMulOp>(op) && !isConstantValue(op->getOperand(0)) && !isConstantValue(op->getOperand(1));
  };
  if (!isProduct(sourceOf(softmax.getInput())))
    return false;
  Operation *op = softmax;
  for (unsigned i = 0; i < horizon && !op->use_empty(); ++i) {
    op = *op->user_begin();
    // One that is written as a sum of terms, too.
    if (isProduct(op) || isa<ReduceSumOp>(op))
      return true;
    if (!handsOn(op))
      return false;
  }
  return false;
}

// The window of a convolution: of images, the height of its filters.
int64_t windowOf(ConvOp conv) { return typeOf(conv.getWeight()).getDimSize(2); }

void countConvolution(ConvOp conv, Counts &counts) {
  if (typeOf(conv.getWeight()).getRank() != 4)
    return;
  ++counts.convolutions;
  int64_t group = conv.getGroup();
  counts.windows += windowOf(conv) > 1 || typeOf(conv.getWeight()).getDimSize(3) > 1;
  counts.depthwise += group > 1 && typeOf(conv.getWeight()).getDimSize(1) == 1;
  counts.patches += windowOf(conv) >= 4 && conv.getStrides() && (*conv.getStrides())[0] == windowOf(conv);
}

void countJoin(ConcatOp concat, Counts &counts, DenseMap<Value, unsigned> &joined) {
  if (!isImage(concat) || concat.getInputs().size() < 2)
    return;
  ++counts.joins;
  // Results of several windows side by side.
  SmallVector<int64_t> windows;
  bool isPooled = false;
  for (Value input : concat.getInputs()) {
    Operation *source = sourceOf(input);
    if (auto conv = dyn_cast_or_null<ConvOp>(source); conv && !llvm::is_contained(windows, windowOf(conv)))
      windows.push_back(windowOf(conv));
    isPooled |= isa_and_nonnull<MaxPoolOp, AveragePoolOp>(source);
  }
  counts.inceptions += concat.getInputs().size() > 2 && windows.size() + isPooled > 1;
  // A part that several concatenations have: each layer reads all before it.
  bool isDense = false;
  for (Value input : concat.getInputs())
    isDense |= ++joined[input] > 2;
  counts.dense += isDense;
}

Counts countParts(ModuleOp module) {
  Counts counts;
  DenseMap<Value, unsigned> joined;
  module.walk([&](Operation *op) {
    if (auto conv = dyn_cast<ConvOp>(op))
      countConvolution(conv, counts);
    else if (auto concat = dyn_cast<ConcatOp>(op))
      countJoin(concat, counts, joined);
    else if (auto softmax = dyn_cast<SoftmaxOp>(op))
      counts.attentions += isAttention(softmax);
    else if (auto add = dyn_cast<AddOp>(op))
      counts.sums += isImage(add) && add.getLhs().getType() == add.getRhs().getType() &&
                     !isConstantValue(add.getLhs()) && !isConstantValue(add.getRhs());
    else if (auto gather = dyn_cast<GatherOp>(op))
      counts.tables += gather.getAxis() == 0 && isConstantValue(gather.getInput()) &&
                       typeOf(gather.getInput()).getRank() == 2 &&
                       isa<FloatType>(typeOf(gather.getInput()).getElementType());
    else if (auto resize = dyn_cast<ResizeOp>(op))
      counts.upsamplings += isImage(resize);
    counts.caches += isa<TensorScatterOp>(op);
    counts.masks += isa<TriluOp>(op);
    counts.loops += isa<LoopOp>(op);
    counts.selections += isa<NonMaxSuppressionOp>(op);
    counts.groupNorms += isa<GroupNormalizationOp, InstanceNormalizationOp>(op);
    // A tensor from outside that grows by rows and leaves again.
    if (auto concat = dyn_cast<ConcatOp>(op))
      counts.caches += isImage(concat) && isa<BlockArgument>(concat.getInputs().front()) &&
                       llvm::any_of(concat->getUsers(), [](Operation *user) { return isa<func::ReturnOp>(user); });
  });
  return counts;
}

} // namespace

std::vector<NetworkClass> classesOf(ModuleOp module) {
  Counts n = countParts(module);
  std::vector<NetworkClass> classes;
  auto add = [&](bool holds, StringRef name, StringRef meaning, const char *why, auto... numbers) {
    if (holds)
      classes.push_back({name, meaning, llvm::formatv(why, numbers...).str()});
  };
  bool isSeparable = n.depthwise > 1 && 2 * n.depthwise >= n.windows;
  bool isUNet = n.upsamplings > 0 && n.groupNorms > 1 && n.joins > 0 && n.attentions > 0;
  add(n.sums > 1 && !isSeparable && !isUNet, "RN", "residual convolutions",
      "{0} sums of images among {1} convolutions, of which {2} are depthwise", n.sums, n.convolutions, n.depthwise);
  add(isSeparable, "MN", "separable convolutions",
      "{0} of {1} convolutions with windows of several pixels are depthwise", n.depthwise, n.windows);
  add(n.selections > 0, "SSD", "detector", "{0} selections of boxes", n.selections);
  add(n.attentions > 0 && n.tables > 0 && !n.caches && !n.masks, "BR", "transformer that reads all tokens",
      "{0} attentions, {1} tables of tokens, and no mask or cache", n.attentions, n.tables);
  add(n.attentions > 0 && (n.caches > 0 || n.masks > 0), "decoder", "transformer that goes on with a text",
      "{0} attentions, {1} caches and {2} masks", n.attentions, n.caches, n.masks);
  add(n.attentions > 0 && n.patches > 0 && !n.tables && !isUNet, "vision", "vision transformer",
      "{0} attentions behind a convolution of patches", n.attentions);
  add(n.dense > 1, "dense", "densely joined convolutions", "{0} concatenations of what others join, too", n.dense);
  add(n.inceptions > 0 && n.dense < 2, "inception", "windows side by side", "{0} concatenations of several windows",
      n.inceptions);
  add(n.loops > 0 && !n.selections, "recurrent", "recurrent", "{0} loops", n.loops);
  add(isUNet, "diffusion", "denoiser of images", "{0} upsamplings, {1} normalisations of groups, {2} attentions",
      n.upsamplings, n.groupNorms, n.attentions);
  add(classes.empty() && n.convolutions > 0, "plain", "convolutions one behind the other", "{0} convolutions",
      n.convolutions);
  return classes;
}

} // namespace fathom
