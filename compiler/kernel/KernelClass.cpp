// The table of kernel classes and their knobs.
#include "compiler/kernel/KernelClass.h"

#include "compiler/graph/SizeMath.h"
#include "compiler/kernel/Attention.h"
#include "compiler/kernel/ConvAlgorithm.h"
#include "compiler/kernel/KernelVersions.h"
#include "compiler/kernel/Reorder.h"
#include "compiler/kernel/TransposedConv.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom {

int64_t representative(Operation *op, AffineExpr size) {
  if (std::optional<int64_t> constant = constantSize(size))
    return *constant;
  SmallVector<int64_t> likely;
  for (const Symbol &symbol : symbolsFor(op))
    likely.push_back(symbol.likely);
  // A product with a size of which nothing is said stays a guess.
  llvm::SmallBitVector used;
  collectSymbols(size, used);
  bool isSaid = llvm::all_of(used.set_bits(), [&](unsigned i) { return i < likely.size() && likely[i] > 0; });
  return isSaid ? size::evaluate(size, likely).value_or(128) : 128;
}

namespace {

constexpr Knob mapKnobs[] = {{"lanes", 1, 256, "elements computed together"},
                             {"grain", 1, 1 << 30, "elements of a task"}};

constexpr Knob reorderKnobs[] = {
    {"tile", 2, 64, "rows and columns of a square of elements that is transposed in registers"},
    {"run", 2, 1 << 20, "elements that squares pass before the next ones beside them"},
    {"along_inner", 0, 1, "1: squares pass along the results' neighbours in memory; 0: along the operands'"},
    {"grain", 1, 1 << 30, "runs of a task"}};

constexpr Knob concatKnobs[] = {{"lanes", 1, 256, "elements copied together"}, {"grain", 1, 1 << 30, "rows of a task"}};

constexpr Knob rowKnobs[] = {{"lanes", 1, 256, "elements combined together"},
                             {"grain", 1, 1 << 30, "rows, or elements along kept lanes, of a task"}};

constexpr Knob poolKnobs[] = {{"lanes", 1, 256, "channels computed together"},
                              {"grain", 1, 1 << 30, "windows of a task"}};

constexpr Knob depthwiseKnobs[] = {
    {"tile_w", 1, 16, "pixels computed together"},
    {"lanes", 1, 64, "channels computed together"},
    {"block_c", 1, 1 << 30, "channels of a task"},
    {"fetch_ahead", 0, 1, "1: a row fetches what the next one, and the next block of channels, need; 0: it does not"},
    {"grain", 1, 1 << 30, "rows of a task"}};

constexpr Knob packedProductKnobs[] = {{"tile_m", 1, 16, "rows of input that share the unpacking"},
                                       {"tile_n", 1, 16, "columns that such rows are multiplied with together"},
                                       {"row_n", 1, 16, "columns that a single row is multiplied with together"},
                                       {"grain", 1, 1 << 30, "columns of a task"}};

constexpr Knob treesKnobs[] = {
    {"rows", 1, 32, "rows that descend a tree together"},
    {"trees", 1, 32, "trees that a single row descends together"},
    {"steps", 1, 32, "levels that are descended before it is seen whether all have reached a leaf"},
    {"block", 1, 1 << 20, "rows that pass a tree before the next one is taken"},
    {"grain", 1, 1 << 30, "rows of a task"}};

constexpr Knob sequentialKnobs[] = {{"grain", 1, 1 << 30, "independent rows of a task"}};

} // namespace

bool isDepthwise(Operation *op) {
  auto conv = dyn_cast<ConvOp>(op);
  if (!conv || conv.getGroup() == 1)
    return false;
  auto weight = cast<RankedTensorType>(conv.getWeight().getType());
  bool multiplied = weight.getDimSize(0) != conv.getGroup();
  return weight.getDimSize(1) == 1 && !multiplied && conv.getType().getElementType().isF32();
}

bool leavesOutEnds(Operation *depthwise) {
  constexpr int64_t most = 16; // pixels
  auto conv = cast<ConvOp>(depthwise);
  FailureOr<Window> window = getWindow(conv);
  return succeeded(window) && std::max(window->padsBegin.back(), window->padsEnd.back()) <= most &&
         constantSize(sizesOf(conv.getType()).back()) && constantSize(sizesOf(conv.getInput()).back());
}

int64_t panelWidth(const Schedule &schedule) {
  return schedule["tile_n"] ? schedule["tile_n"] : schedule["tile_o"] * schedule["groups"];
}

constexpr Knob loadAheadKnob{"load_ahead", 0, 64,
                             "multiply-adds that the inner loop's loads come ahead of their use, as far as there are "
                             "registers; 0, or with too few of them for any order: LLVM orders that loop"};

constexpr Knob contractKnobs[] = {
    {"tile_m", 1, 32, "rows (pixels) of the register tile"},
    {"tile_n", 1, 256, "columns (channels) of the register tile and of a packed panel"},
    {"unroll_k", 1, 16, "steps of the reduction per iteration"},
    {"in_flight", 1, Target::mostInFlight,
     "multiply-adds at a time: a tile of fewer accumulators has several sets of them, up to 8"},
    loadAheadKnob,
    {"pack_a", 0, 1, "1: rows are packed block by block, computing fused producers; 0: read in place"},
    {"block_k", 1, 1 << 20, "steps of the reduction per packed block"},
    {"rows_outer", 0, 1, "1: panels stream past a tile of rows; 0: rows stream past a panel"},
    {"through_scratch", 0, 1,
     "1: a tile is stored and read again before its consumers; 0: they take it from registers"},
    {"streams", 1, 8, "panels that a tile is multiplied with together, each in a part of the weights of its own"},
    {"fetch_ahead", 0, 1, "1: tiles of rows that pass a panel fetch the next one meanwhile; 0: they do not"},
    {"task_m", 1, 1 << 30, "rows of a task"},
    {"task_n", 1, 1 << 30, "panels of a task"}};

constexpr Knob attentionKnobs[] = {
    {"tile_m", 1, 32, "query rows whose scores are kept together, and rows of the register tile"},
    {"tile_n", 1, 256, "columns of the register tile: of a packed panel of keys, then of values"},
    {"unroll_k", 1, 16, "steps of a reduction per iteration"},
    loadAheadKnob,
    {"block_n", 1, 1 << 20, "keys whose scores are kept together"},
    {"fetch_ahead", 0, 1,
     "1: a tile of rows fetches the panel behind the current one (where the number of rows is not known, tiles that "
     "are not full do); 0: none does"},
    {"task_m", 1, 1 << 30, "query rows of a task"}};

constexpr Knob winogradKnobs[] = {
    {"tile", 2, 4, "pixels of a tile's side: 2 or 4"},
    {"tile_m", 1, 32, "tiles of the register tile"},
    {"tile_n", 1, 256, "columns (channels) of the register tile and of a packed panel"},
    {"unroll_k", 1, 16, "steps of the reduction per iteration"},
    {"in_flight", 1, Target::mostInFlight,
     "multiply-adds at a time: a tile of fewer accumulators has several sets of them, up to 8"},
    loadAheadKnob,
    {"fetch_ahead", 0, 1, "1: tiles that pass the weights of a position fetch the next ones meanwhile; 0: they do not"},
    {"task_t", 1, 1 << 20, "tiles of a task"},
    {"task_n", 1, 1 << 30, "panels of a task"}};

constexpr Knob strassenKnobs[] = {
    {"stored", 4, 7, "factors of the weights that are stored; the others are added up while the kernel runs"},
    {"tile_m", 1, 32, "pairs of rows of the register tile"},
    {"tile_n", 1, 256, "columns of the register tile and of a packed panel, both of half the product"},
    {"unroll_k", 1, 16, "steps of the reduction per iteration"},
    {"in_flight", 1, Target::mostInFlight,
     "multiply-adds at a time: a tile of fewer accumulators has several sets of them, up to 8"},
    loadAheadKnob,
    {"fetch_ahead", 0, 1, "1: tiles that pass a panel fetch the next one meanwhile; 0: they do not"},
    {"task_m", 1, 1 << 30, "pairs of rows of a task"},
    {"task_n", 1, 1 << 30, "panels of a task"}};

constexpr Knob spatialPackKnobs[] = {
    {"tile_w", 1, 32, "pixels of the register tile, side by side in a row"},
    {"tile_o", 1, 256, "output channels of a group in the register tile and in a packed panel"},
    {"groups", 1, 64, "groups in a panel; several of them are there as a whole"},
    {"tile_i", 1, 64, "input channels of a group per step"},
    {"unroll_w", 0, 1, "1: the window's pixels along a row are unrolled and share what they load; 0: they are a loop"},
    loadAheadKnob,
    {"rows_outer", 0, 1, "1: panels stream past a row of pixels; 0: rows stream past a panel"},
    {"task_h", 1, 1 << 30, "rows of pixels of a task"},
    {"task_n", 1, 1 << 30, "panels of a task"}};

constexpr Knob transposedKnobs[] = {
    {"tile_m", 1, 32, "pixels of a phase in the register tile"},
    {"tile_n", 1, 256, "output channels of a group in the register tile and in a packed panel"},
    {"unroll_k", 1, 16, "steps of the reduction per iteration"},
    {"in_flight", 1, Target::mostInFlight,
     "multiply-adds at a time: a tile of fewer accumulators has several sets of them, up to 8"},
    loadAheadKnob,
    {"through_scratch", 0, 1,
     "1: a tile is stored and read again before its consumers; 0: they take it from registers"},
    {"task_p", 1, 1 << 12, "phases of a task"},
    {"task_m", 1, 1 << 30, "pixels of a phase in a task"},
    {"task_n", 1, 1 << 30, "panels of a task"}};

static const KernelClass mapClass{"map", "elements computed on demand", mapKnobs, mapFamily};
static const KernelClass reorderClass{"reorder", "elements computed on demand, squares of them transposed in registers",
                                      reorderKnobs, reorderFamily};
static const KernelClass concatClass{"concat", "copies of several inputs side by side", concatKnobs, concatFamily};
static const KernelClass reduceClass{"reduce", "elements combined along axes", rowKnobs, rowFamily};
static const KernelClass argReduceClass{"arg_reduce", "positions of extreme elements along an axis", rowKnobs,
                                        rowFamily};
static const KernelClass softmaxClass{"softmax", "softmaxes, in passes over a row", rowKnobs, rowFamily};
static const KernelClass layerNormClass{"layer_norm", "layer normalisation, in passes over a row", rowKnobs, rowFamily};
static const KernelClass poolClass{"pool", "pooling windows", poolKnobs, poolFamily};
static const KernelClass contractClass{"contract",
                                       "matrix products and convolutions",
                                       contractKnobs,
                                       contractFamily,
                                       /*takesConsumers=*/true,
                                       contractRows,
                                       "rows"};
static const KernelClass attentionClass{"attention",
                                        "products with a softmax between them, whose scores are never stored whole",
                                        attentionKnobs,
                                        attentionFamily,
                                        /*takesConsumers=*/true,
                                        attentionRows,
                                        "rows"};
static const KernelClass depthwiseClass{"depthwise", "convolutions of single channels", depthwiseKnobs,
                                        depthwiseFamily};
static const KernelClass winogradClass{"winograd", "convolutions in tiles by Winograd's method", winogradKnobs,
                                       winogradFamily};
static const KernelClass strassenClass{"strassen", "matrix products in quarters by Strassen's method", strassenKnobs,
                                       strassenFamily};
static const KernelClass spatialPackClass{"spatial_pack", "convolutions in tiles of a row's pixels, by groups",
                                          spatialPackKnobs, spatialPackFamily};
static const KernelClass transposedClass{"transposed",
                                         "transposed convolutions, a product for each phase of the stride",
                                         transposedKnobs,
                                         transposedFamily,
                                         /*takesConsumers=*/true,
                                         contractRows,
                                         "pixels"};
static const KernelClass packedProductClass{"packed_product", "products with matrices of small integers",
                                            packedProductKnobs, packedProductFamily, /*takesConsumers=*/false};
static const KernelClass treesClass{"trees", "ensembles of decision trees", treesKnobs, treesFamily,
                                    /*takesConsumers=*/false};
static const KernelClass sequentialClass{"sequential", "scatters, scans and sorts", sequentialKnobs, sequentialFamily,
                                         /*takesConsumers=*/false};

static const KernelClass *const classes[] = {
    &mapClass,         &reorderClass,  &concatClass,     &reduceClass,        &argReduceClass, &softmaxClass,
    &layerNormClass,   &poolClass,     &contractClass,   &attentionClass,     &depthwiseClass, &winogradClass,
    &spatialPackClass, &strassenClass, &transposedClass, &packedProductClass, &treesClass,     &sequentialClass};

ArrayRef<const KernelClass *> allKernelClasses() { return classes; }

const KernelClass *findKernelClass(StringRef name) {
  auto found = llvm::find_if(classes, [&](const KernelClass *klass) { return klass->name == name; });
  return found == std::end(classes) ? nullptr : *found;
}

const KernelClass &kernelClassOf(Operation *anchor) {
  if (!anchor)
    return mapClass;
  return *TypeSwitch<Operation *, const KernelClass *>(anchor)
              .Case<ArgMaxOp, ArgMinOp>([](auto) { return &argReduceClass; })
              .Case<SoftmaxOp, LogSoftmaxOp, HardmaxOp>([](auto) { return &softmaxClass; })
              .Case<LayerNormalizationOp, RMSNormalizationOp>([](auto) { return &layerNormClass; })
              .Case<MaxPoolOp, AveragePoolOp, LpPoolOp>([](auto) { return &poolClass; })
              .Case([](ConcatOp) { return &concatClass; })
              .Case([](MatMulOp op) { return attentionOf(op) ? &attentionClass : &contractClass; })
              .Case([](ConvOp op) {
                return isDepthwise(op) ? &depthwiseClass : takesSpatialPack(op) ? &spatialPackClass : &contractClass;
              })
              .Case<ScatterElementsOp, ScatterNDOp, CumSumOp, TopKOp, NonZeroOp, NonMaxSuppressionOp, UniqueOp,
                    TensorScatterOp>([](auto) { return &sequentialClass; })
              .Case([](ConvTransposeOp op) { return hasPhases(op) ? &transposedClass : &sequentialClass; })
              .Case([](WinogradConvOp) { return &winogradClass; })
              .Case([](StrassenOp) { return &strassenClass; })
              .Case([](MatMulNBitsOp) { return &packedProductClass; })
              .Case([](TreeEnsembleOp) { return &treesClass; })
              .Default([](Operation *op) { return op->hasTrait<Reduction>() ? &reduceClass : &mapClass; });
}

Operation *anchorOf(func::FuncOp kernel) {
  // Of an attention's anchors, the last is the kernel's: it knows the others.
  for (Operation &op : llvm::reverse(kernel.getBody().front().without_terminator()))
    if (isAnchor(&op))
      return &op;
  return nullptr;
}

const KernelClass &kernelClassOf(func::FuncOp kernel) {
  Operation *anchor = anchorOf(kernel);
  return !anchor && reorderOf(kernel) ? reorderClass : kernelClassOf(anchor);
}

llvm::Error checkSchedule(const KernelClass &klass, const Schedule &schedule, Operation *anchor, const Target &target) {
  for (const auto &[name, value] : schedule.knobs) {
    auto knob = llvm::find_if(klass.knobs, [&, name = StringRef(name)](const Knob &k) { return k.name == name; });
    if (knob == klass.knobs.end())
      return llvm::createStringError("class '%s' has no knob '%s'", klass.name.data(), name.c_str());
    if (value < knob->min || value > knob->max)
      return llvm::createStringError("%s = %lld is outside [%lld, %lld]", name.c_str(), (long long)value,
                                     (long long)knob->min, (long long)knob->max);
  }
  for (const Knob &knob : klass.knobs)
    if (llvm::none_of(schedule.knobs, [&](const auto &entry) { return entry.first == knob.name; }))
      return llvm::createStringError("knob '%s' is missing", knob.name.data());
  if (std::string violation = klass.family.violation(schedule, anchor, target); !violation.empty())
    return llvm::createStringError("%s", violation.c_str());
  return llvm::Error::success();
}

} // namespace fathom
