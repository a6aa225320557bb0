// Which taps belong to a phase follows from the stride and the dilation alone.
#include "compiler/kernel/TransposedConv.h"

#include "compiler/graph/SizeMath.h"
#include "llvm/Support/MathExtras.h"
#include <numeric>

using namespace mlir;
using namespace fathom::graph;

namespace fathom {

PhaseAxis::Taps PhaseAxis::taps(int64_t phase) const {
  int64_t reach = phase + pad;
  if (reach % common)
    return {0, 0, 0};
  int64_t first = reach / common * inverse % tapStep;
  int64_t count = llvm::divideCeil(std::max<int64_t>(0, kernel - first), tapStep);
  return {first, count, (reach - first * dilation) / stride};
}

SmallVector<PhaseAxis> phaseAxes(const Window &window) {
  SmallVector<PhaseAxis> axes;
  for (size_t d = 0; d < window.kernel.size(); ++d) {
    int64_t stride = window.strides[d], dilation = window.dilations[d], common = std::gcd(stride, dilation);
    PhaseAxis axis{stride, window.kernel[d], dilation,          window.padsBegin[d],
                   common, stride / common,  dilation / common, 0};
    while (axis.inverse * axis.inputStep % axis.tapStep != 1 % axis.tapStep)
      ++axis.inverse;
    axes.push_back(axis);
  }
  return axes;
}

SmallVector<int64_t> tapsOfPhases(const Window &window) {
  SmallVector<int64_t> counts{1};
  for (const PhaseAxis &axis : phaseAxes(window)) {
    SmallVector<int64_t> before = std::exchange(counts, {});
    for (int64_t outer : before)
      for (int64_t phase = 0; phase < axis.stride; ++phase)
        counts.push_back(outer * axis.taps(phase).count);
  }
  return counts;
}

bool hasPhases(ConvTransposeOp op) {
  // What a table of taps, and zeros around the input, are sensible for.
  constexpr int64_t mostPhases = 4096, widestHalo = 1024;
  Sizes weight = sizesOf(op.getWeight());
  std::optional<int64_t> channels = constantSize(weight[0]), columns = constantSize(weight[1]);
  FailureOr<Window> window = getWindow(op);
  if (failed(window) || !channels || !columns || *channels < 1 || *columns < 1)
    return false;
  int64_t phases = 1;
  for (int64_t stride : window->strides)
    if (stride > mostPhases || (phases *= stride) > mostPhases)
      return false;
  return llvm::all_of(phaseHalo(op), [](int64_t zeros) { return zeros <= widestHalo; });
}

bool standsSideBySide(ConvTransposeOp op, int64_t lanes) {
  Sizes weight = sizesOf(op.getWeight());
  return op.getGroup() > 1 && *constantSize(weight[0]) == op.getGroup() && *constantSize(weight[1]) < lanes;
}

SmallVector<int64_t> phaseHalo(ConvTransposeOp op) {
  Window window = *getWindow(op);
  SmallVector<int64_t> halo(2 * op.getType().getRank());
  for (auto [d, axis] : llvm::enumerate(phaseAxes(window))) {
    // How many results there are more than strides in the input: the same for all sizes.
    int64_t extra = op.getOutputPadding() ? (*op.getOutputPadding())[d] : 0;
    int64_t more = extra + effectiveKernel(window, d) - axis.stride - window.padsBegin[d] - window.padsEnd[d];
    int64_t last = more >= 0 ? llvm::divideCeil(more, axis.stride) : -(-more / axis.stride);
    int64_t &before = halo[2 * (2 + d)], &behind = halo[2 * (2 + d) + 1];
    for (int64_t phase = 0; phase < axis.stride; ++phase)
      if (PhaseAxis::Taps taps = axis.taps(phase); taps.count) {
        before = std::max(before, (taps.count - 1) * axis.inputStep - taps.from);
        behind = std::max(behind, last + taps.from);
      }
  }
  return halo;
}

SmallVector<int64_t> phaseWeightOrder(int64_t rank, bool sideBySide) {
  SmallVector<int64_t> order;
  if (!sideBySide)
    order.push_back(1);
  llvm::append_range(order, llvm::seq<int64_t>(2, rank));
  order.append({0, 1});
  return order;
}

} // namespace fathom
