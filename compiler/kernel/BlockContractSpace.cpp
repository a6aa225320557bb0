// The schedules of products and convolutions in blocks of work groups: the space of legal ones, and the one of least
// estimated cost.
#include "compiler/cost/BlockContract.h"
#include "compiler/graph/Layout.h"
#include "compiler/kernel/Families.h"
#include "compiler/kernel/KernelClass.h"
#include "compiler/kernel/KernelVersions.h"
#include "compiler/kernel/Precision.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom {
namespace {

// What an item does for a step of the reduction is straight code: so many multiply-adds at most.
constexpr int64_t mostUnrolled = 2048;
// Of 32 bits; with more, items have some in memory.
constexpr int64_t mostRegisters = 255;

// Whether an op's factors may be those of tensor cores: they are as narrow, or are asked to be taken so.
bool takesFragments(Operation *op) {
  Type left = getElementTypeOrSelf(op->getOperand(0).getType()),
       right = getElementTypeOrSelf(op->getOperand(1).getType());
  return left == right && (left.isF16() || left.isBF16() || (left.isF32() && takesTf32(op)));
}

// Whether groups can run together and reach each other's local memory.
bool hasClusters(const Target &target) {
  int64_t number = 0;
  StringRef name = target.cpu;
  return target.backend == "cuda" && name.consume_front("sm_") && !name.consumeInteger(10, number) && number >= 90;
}

cost::BlockProduct problemOf(Operation *op, const Target &) {
  auto size = [&](AffineExpr expr) { return std::max<int64_t>(1, representative(op, expr)); };
  auto bytes = [](Value value) { return elementBytes(getElementTypeOrSelf(value.getType())); };
  Value result = op->getResult(0);
  Sizes sizes = sizesOf(result), right = sizesOf(op->getOperand(1));
  cost::BlockProduct p;
  p.leftBytes = bytes(op->getOperand(0)), p.rightBytes = bytes(op->getOperand(1)), p.resultBytes = bytes(result);
  p.takesFragments = takesFragments(op);
  p.multipliesByDouble = getElementTypeOrSelf(result.getType()).isF64();
  if (auto conv = dyn_cast<ConvOp>(op)) {
    p.batches = conv.getGroup();
    p.columns = std::max<int64_t>(1, size(sizes[1]) / p.batches), p.depth = size(right[1]);
    for (auto [d, expr] : llvm::enumerate(sizes))
      p.rows *= d == 1 ? 1 : size(expr);
    double taps = 1, strides = 1;
    for (AffineExpr expr : ArrayRef(right).drop_front(2))
      taps *= double(size(expr));
    p.depth = int64_t(double(p.depth) * taps);
    if (FailureOr<Window> window = getWindow(conv); succeeded(window))
      for (int64_t stride : window->strides)
        strides *= double(stride);
    p.leftShare = std::min(1.0, strides / taps);
    return p;
  }
  p.columns = size(sizes.back()), p.depth = size(right[right.size() - 2]);
  bool isBatched = llvm::any_of(ArrayRef(right).drop_back(2), [](AffineExpr expr) { return !isConstant(expr, 1); });
  for (int64_t d = 0, rank = sizes.size(); d < rank - 1; ++d)
    (isBatched && d < rank - 2 ? p.batches : p.rows) *= size(sizes[d]);
  return p;
}

std::string violation(const cost::BlockProduct &p, const BlockContractSchedule &s, const Target &target) {
  auto text = [](auto... parts) { return llvm::formatv(parts...).str(); };
  const Gpu &gpu = target.gpu;
  if (s.blockM % s.itemM)
    return text("block_m = {0} must be a multiple of item_m = {1}", s.blockM, s.itemM);
  if (s.blockN % s.itemN)
    return text("block_n = {0} must be a multiple of item_n = {1}", s.blockN, s.itemN);
  if (s.fragments && !p.takesFragments)
    return "fragments must be 0: the factors are not those of tensor cores";
  if (s.slices & (s.slices - 1))
    return text("slices = {0} must be a power of two", s.slices);
  if (s.splits & (s.splits - 1))
    return text("splits = {0} must be a power of two", s.splits);
  if (s.splits > 1 && !hasClusters(target))
    return text("splits must be 1: groups of '{0}' do not reach each other's local memory", target.spelling());
  int64_t share = s.itemM * s.itemN / s.parts(), vector = s.fragments ? 2 : s.itemN % 4 ? 1 : 4;
  if (s.itemM * s.itemN % s.parts() || share % vector || (share % s.itemN && s.itemN % share))
    return text("slices x splits = {0} do not share an item's {1} x {2} sums in vectors of {3}", s.parts(), s.itemM,
                s.itemN, vector);
  if (s.blockK % s.slices)
    return text("block_k = {0} must be a multiple of slices = {1}", s.blockK, s.slices);
  if (s.fragments && (s.itemM % 2 || s.itemN % 2 || s.blockM % (8 * s.itemM) || s.blockN % (4 * s.itemN) ||
                      s.blockK / s.slices % (p.leftBytes == 2 ? 16 : 8)))
    return text(
        "fragments of 16 rows, 8 columns and {0} steps do not fill blocks of {1} x {2} x {3} and items of {4} x "
        "{5}",
        p.leftBytes == 2 ? 16 : 8, s.blockM, s.blockN, s.blockK / s.slices, s.itemM, s.itemN);
  if (s.items() > gpu.groupItems)
    return text("block_m x block_n / (item_m x item_n) x slices are {0} work items, and a group has at most {1}",
                s.items(), gpu.groupItems);
  if (int64_t local = localBytesOf(p, s); local > gpu.groupLocalBytes)
    return text("block_k = {0} and stages = {1} take {2} bytes of local memory, and a group has at most {3}", s.blockK,
                s.stages, local, gpu.groupLocalBytes);
  if (int64_t steps = s.itemM * s.itemN * s.blockK / s.slices; steps > mostUnrolled)
    return text("block_k x item_m x item_n / slices = {0} would be straight code, of at most {1}", steps, mostUnrolled);
  if (int64_t registers = cost::registersOf(s); registers > mostRegisters)
    return text("a work item would need {0} registers of {1}", registers, mostRegisters);
  if (!cost::residentGroups(p, s, gpu))
    return "the registers of a group's work items are more than a multiprocessor has";
  return "";
}

// What is larger than there is to compute takes no longer than what is not, on tensor cores.
void fragmentCandidates(const cost::BlockProduct &p, const Target &target,
                        llvm::function_ref<void(const BlockContractSchedule &)> body) {
  for (int64_t blockM : {16, 32, 64, 128})
    for (int64_t blockN : {16, 32, 64, 128})
      for (int64_t blockK : {16, 32, 64, 128})
        for (int64_t itemM : {2, 4, 8})
          for (int64_t itemN : {2, 4, 8})
            for (int64_t stages : {2, 3, 4})
              for (int64_t slices : {1, 2, 4, 8})
                for (int64_t splits : {1, 2, 4, 8}) {
                  BlockContractSchedule s{blockM, blockN, blockK, itemM, itemN, stages, true, slices, splits};
                  if ((splits > 1 && (!hasClusters(target) || splits * blockK * 4 > p.depth)) ||
                      (blockM > 16 && blockM / 2 >= p.rows) || (blockN > 16 && blockN / 2 >= p.columns) ||
                      (blockK > 64 && blockK > p.depth) || s.items() > 256)
                    continue;
                  body(s);
                }
}

void candidates(const cost::BlockProduct &p, const Target &target,
                llvm::function_ref<void(const BlockContractSchedule &)> body) {
  double rate = p.leftBytes == 2 ? target.gpu.halfMultiplyAdds : target.gpu.tf32MultiplyAdds;
  if (p.takesFragments && rate > 0)
    return fragmentCandidates(p, target, body);
  // No block is twice as large as what there is.
  auto isTooLarge = [](int64_t block, int64_t size) { return block > 8 && block / 2 >= size; };
  for (int64_t blockM : {1, 2, 4, 8, 16, 32, 64, 128})
    for (int64_t blockN : {8, 16, 32, 64, 128})
      for (int64_t blockK : {8, 16, 32, 64})
        for (int64_t itemM : {1, 2, 4, 8})
          for (int64_t itemN : {1, 2, 4, 8})
            for (int64_t stages : {2, 1}) {
              BlockContractSchedule s{blockM, blockN, blockK, itemM, itemN, stages};
              if (isTooLarge(blockM, p.rows) || isTooLarge(blockN, p.columns) || isTooLarge(blockK, p.depth) ||
                  s.blockM % s.itemM || s.blockN % s.itemN || s.items() < target.gpu.lanes || s.items() > 256)
                continue;
              body(s);
            }
}

const FamilyOf<cost::BlockProduct, BlockContractSchedule>
    family({.problem = problemOf,
            .candidates = candidates,
            .estimate = [](const cost::BlockProduct &p, const BlockContractSchedule &s,
                           const Target &target) { return cost::estimate(p, s, target); },
            .violation = violation});

} // namespace

const KernelClass blockContractClass{.name = "block_contract",
                                     .meaning = "matrix products and convolutions in blocks of work groups",
                                     .family = family,
                                     .extent = contractRows,
                                     .extentName = "rows"};

} // namespace fathom
