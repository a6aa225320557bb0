// The table of kernel classes.
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

static const KernelClass mapClass{"map", "elements computed on demand", mapFamily};
static const KernelClass reorderClass{"reorder", "elements computed on demand, squares of them transposed in registers",
                                      reorderFamily};
static const KernelClass concatClass{"concat", "copies of several inputs side by side", concatFamily};
static const KernelClass reduceClass{"reduce", "elements combined along axes", rowFamily};
static const KernelClass argReduceClass{"arg_reduce", "positions of extreme elements along an axis", rowFamily};
static const KernelClass softmaxClass{"softmax", "softmaxes, in passes over a row", rowFamily};
static const KernelClass layerNormClass{"layer_norm", "layer normalisation, in passes over a row", rowFamily};
static const KernelClass poolClass{"pool", "pooling windows", poolFamily};
static const KernelClass contractClass{.name = "contract",
                                       .meaning = "matrix products and convolutions",
                                       .family = contractFamily,
                                       .extent = contractRows,
                                       .extentName = "rows"};
static const KernelClass attentionClass{.name = "attention",
                                        .meaning =
                                            "products with a softmax between them, whose scores are never stored whole",
                                        .family = attentionFamily,
                                        .extent = attentionRows,
                                        .extentName = "rows"};
static const KernelClass depthwiseClass{"depthwise", "convolutions of single channels", depthwiseFamily};
static const KernelClass winogradClass{"winograd", "convolutions in tiles by Winograd's method", winogradFamily};
static const KernelClass strassenClass{"strassen", "matrix products in quarters by Strassen's method", strassenFamily};
static const KernelClass spatialPackClass{"spatial_pack", "convolutions in tiles of a row's pixels, by groups",
                                          spatialPackFamily};
static const KernelClass transposedClass{.name = "transposed",
                                         .meaning = "transposed convolutions, a product for each phase of the stride",
                                         .family = transposedFamily,
                                         .extent = contractRows,
                                         .extentName = "pixels"};
static const KernelClass packedProductClass{.name = "packed_product",
                                            .meaning = "products with matrices of small integers",
                                            .family = packedProductFamily,
                                            .takesConsumers = false,
                                            .goesByStrides = false};
static const KernelClass treesClass{
    .name = "trees", .meaning = "ensembles of decision trees", .family = treesFamily, .takesConsumers = false};
static const KernelClass sequentialClass{.name = "sequential",
                                         .meaning = "scatters, scans and sorts",
                                         .family = sequentialFamily,
                                         .takesConsumers = false,
                                         .goesByStrides = false};

static const KernelClass *const classes[] = {
    &mapClass,         &reorderClass,  &concatClass,     &reduceClass,        &argReduceClass, &softmaxClass,
    &layerNormClass,   &poolClass,     &contractClass,   &attentionClass,     &depthwiseClass, &winogradClass,
    &spatialPackClass, &strassenClass, &transposedClass, &packedProductClass, &treesClass,     &sequentialClass};

const KernelClasses kernelClasses{mapClass,           reorderClass,   concatClass,      reduceClass,   argReduceClass,
                                  softmaxClass,       layerNormClass, poolClass,        contractClass, attentionClass,
                                  depthwiseClass,     winogradClass,  spatialPackClass, strassenClass, transposedClass,
                                  packedProductClass, treesClass,     sequentialClass};

ArrayRef<const KernelClass *> allKernelClasses() { return classes; }

const KernelClass *findKernelClass(StringRef name) {
  auto found = llvm::find_if(classes, [&](const KernelClass *klass) { return klass->name == name; });
  return found == std::end(classes) ? nullptr : *found;
}

bool isInKernel(Operation *op) { return op->getParentOfType<func::FuncOp>().isPrivate(); }

Operation *anchorOf(func::FuncOp kernel) {
  // Of an attention's anchors, the last is the kernel's: it knows the others.
  for (Operation &op : llvm::reverse(kernel.getBody().front().without_terminator()))
    if (isAnchor(&op))
      return &op;
  return nullptr;
}

llvm::Error checkSchedule(const KernelClass &klass, const Schedule &schedule, Operation *site, const Target &target) {
  std::vector<Knob> knobs = klass.family.knobs();
  for (const auto &[name, value] : schedule.knobs) {
    auto knob = llvm::find_if(knobs, [&, name = StringRef(name)](const Knob &k) { return k.name == name; });
    if (knob == knobs.end())
      return llvm::createStringError("class '%s' has no knob '%s'", klass.name.data(), name.c_str());
    if (value < knob->min || value > knob->max)
      return llvm::createStringError("%s = %lld is outside [%lld, %lld]", name.c_str(), (long long)value,
                                     (long long)knob->min, (long long)knob->max);
  }
  for (const Knob &knob : knobs)
    if (!schedule.has(knob.name))
      return llvm::createStringError("knob '%s' is missing", knob.name.data());
  if (std::string violation = klass.family.spaceOf(site, target)->violation(schedule); !violation.empty())
    return llvm::createStringError("%s", violation.c_str());
  return llvm::Error::success();
}

} // namespace fathom
