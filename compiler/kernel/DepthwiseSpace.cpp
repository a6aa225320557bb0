// The schedules of convolutions of single channels.
#include "compiler/cost/Depthwise.h"
#include "compiler/kernel/Families.h"
#include "compiler/kernel/KernelClass.h"
#include "compiler/kernel/VectorWork.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom {
namespace {

constexpr int64_t widestTile = 16;

// The share of the taps in dimension `d` that lies in an image of `size`, of windows at `positions` places.
double insideShare(const Window &window, size_t d, int64_t size, int64_t positions) {
  int64_t inside = 0;
  for (int64_t tap = 0; tap < window.kernel[d]; ++tap) {
    // Windows whose tap lies before an element of the image.
    auto before = [&](int64_t element) {
      int64_t distance = element + window.padsBegin[d] - tap * window.dilations[d];
      return std::clamp<int64_t>(llvm::divideCeilSigned(distance, window.strides[d]), 0, positions);
    };
    inside += before(size) - before(0);
  }
  return double(inside) / double(positions * window.kernel[d]);
}

cost::DepthwiseConv problemOf(Operation *op, const Target &target) {
  auto conv = cast<ConvOp>(op);
  Sizes sizes = sizesOf(conv.getType());
  auto size = [&](AffineExpr expr) { return std::max<int64_t>(1, representative(op, expr)); };
  cost::DepthwiseConv p;
  Sizes inputSizes = sizesOf(cast<RankedTensorType>(conv.getInput().getType()));
  p.channels = size(sizes[1]), p.width = size(sizes.back()), p.inputWidth = size(inputSizes.back());
  p.unknownWidth = !constantSize(sizes.back());
  for (auto [d, expr] : llvm::enumerate(ArrayRef(sizes).drop_back()))
    if (d != 1)
      p.rows *= size(expr);
  if (FailureOr<Window> window = getWindow(conv); succeeded(window)) {
    p.taps = 1;
    for (auto [d, taps] : llvm::enumerate(window->kernel)) {
      p.taps *= taps;
      p.inside *= insideShare(*window, d, size(inputSizes[2 + d]), size(sizes[2 + d]));
    }
    p.across = window->kernel.back(), p.stride = window->strides.back();
    if (int64_t spatial = window->kernel.size(); spatial > 1)
      p.strideDown = window->strides[spatial - 2];
    // Windows with gaps, or farther apart than they are wide, share nothing worth counting.
    p.sharesLoads = window->dilations.back() == 1 && p.stride < p.across;
  }
  if (SmallVector<Operation *> widening = widenedImage(op); !widening.empty())
    p.imageBytes = 1, p.widening = double(widening.size());
  p.consumerCycles = consumerCycles(op, target);
  p.bytes = kernelBytes(op);
  return p;
}

std::string violation(const cost::DepthwiseConv &, const DepthwiseSchedule &s, const Target &target) {
  int64_t need = cost::registersOf(s, target);
  if (need <= target.vectorRegisters)
    return "";
  return llvm::formatv("a tile of {0} pixels with {1} lanes needs {2} vector registers and {3} has {4}", s.tileW,
                       s.lanes, need, target.cpu, target.vectorRegisters)
      .str();
}

void candidates(const cost::DepthwiseConv &p, const Target &target,
                llvm::function_ref<void(const DepthwiseSchedule &)> body) {
  int64_t native = target.lanes(32);
  SmallVector<int64_t> blocks = fractions(p.channels, lineBytes / cost::DepthwiseConv::elementBytes);
  for (int64_t lanes : {native, 2 * native, 4 * native})
    for (int64_t tile = 1; tile <= std::min(widestTile, p.width); ++tile) {
      if (!violation(p, {.tileW = tile, .lanes = lanes}, target).empty())
        break;
      for (int64_t block : blocks)
        for (bool ahead : {false, true})
          for (int64_t grain : fractions(p.rows, 1))
            body({tile, lanes, std::min(block, p.channels), ahead, grain});
    }
}

const FamilyOf<cost::DepthwiseConv, DepthwiseSchedule> family(
    {.problem = problemOf,
     .candidates = candidates,
     .estimate = cost::estimate,
     .violation = violation,
     .variants = [](const DepthwiseSchedule &s, auto body) { withAndWithout(s, body, &DepthwiseSchedule::fetchBlock); },
     .extents = [](const cost::DepthwiseConv &p, const DepthwiseSchedule &) -> Extents {
       return {{"channels", p.channels}, {"rows", p.rows}};
     }});

} // namespace

const KernelClass depthwiseClass{.name = "depthwise",
                                 .meaning = "convolutions of single channels",
                                 .family = family,
                                 .fixed = "tile_w: 4, lanes: 1 vectors, block_c: 64, fetch_ahead: 0, grain: 4",
                                 .widensImages = true};

} // namespace fathom
