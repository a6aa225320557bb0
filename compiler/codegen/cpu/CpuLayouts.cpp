// How a CPU's kernels want their operands in memory.
#include "compiler/codegen/cpu/CpuBackend.h"
#include "compiler/kernel/TransposedConv.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom {
namespace {

int64_t rankOf(Value value) { return cast<RankedTensorType>(value.getType()).getRank(); }

OperandLayout pixels(SmallVector<int64_t> halo = {}) { return {OperandLayout::Pixels, 0, std::move(halo)}; }
OperandLayout rows() { return {OperandLayout::Rows, 0}; }
OperandLayout packed(SmallVector<int64_t> order, bool inPanels = true) {
  return {OperandLayout::Packed, 1, {}, std::move(order), inPanels};
}

// The zeros that convolutions need around their input.
SmallVector<int64_t> haloOf(ConvOp conv, const Window &window) {
  SmallVector<int64_t> halo(2 * conv.getType().getRank());
  for (size_t d = 0; d < window.kernel.size(); ++d)
    halo[2 * (2 + d)] = window.padsBegin[d], halo[2 * (2 + d) + 1] = window.padsEnd[d];
  // Those of single channels leave out what lies outside, at the ends of rows where they can.
  if (isDepthwise(conv))
    std::fill(halo.begin(), halo.end() - (leavesOutEnds(conv) ? 0 : 2), 0);
  return halo;
}

// Tiles are read whole, also where the image ends inside one.
SmallVector<int64_t> haloOf(WinogradConvOp conv) {
  SmallVector<int64_t> halo(8);
  for (int64_t d = 0; d < 2; ++d) {
    std::optional<int64_t> size = constantSize(sizesOf(conv.getType())[2 + d]);
    int64_t rest = size ? llvm::alignTo(*size, conv.getTile()) - *size : conv.getTile() - 1;
    halo[4 + 2 * d] = conv.getPads()[d], halo[5 + 2 * d] = conv.getPads()[2 + d] + rest;
  }
  return halo;
}

// Panels of output channels, the window, input channels; of single channels the window, then channels.
OperandLayout weightsOf(ConvOp conv) {
  int64_t rank = conv.getType().getRank();
  bool inPanels = !isDepthwise(conv);
  SmallVector<int64_t> order;
  if (inPanels)
    order.push_back(0);
  llvm::append_range(order, llvm::seq<int64_t>(2, rank));
  order.append({1, 0});
  return packed(std::move(order), inPanels);
}

} // namespace

std::optional<AnchorLayouts> cpuLayoutsOf(Operation *anchor, const Target &target) {
  using Layouts = std::optional<AnchorLayouts>;
  return TypeSwitch<Operation *, Layouts>(anchor)
      .Case([&](ConvOp conv) -> Layouts {
        FailureOr<Window> window = getWindow(conv);
        if (failed(window))
          return std::nullopt;
        return AnchorLayouts{{pixels(haloOf(conv, *window)), weightsOf(conv)}, true};
      })
      // A panel's weights for all positions of a tile follow each other: they are read in this order.
      .Case([&](WinogradConvOp conv) { return AnchorLayouts{{pixels(haloOf(conv)), packed({2, 0, 1, 2})}, true}; })
      .Case([&](ConvTransposeOp conv) -> Layouts {
        if (!hasPhases(conv))
          return std::nullopt;
        int64_t bits = std::max(32u, conv.getType().getElementType().getIntOrFloatBitWidth());
        bool sideBySide = standsSideBySide(conv, target.lanes(bits));
        return AnchorLayouts{
            {pixels(phaseHalo(conv)), packed(phaseWeightOrder(conv.getType().getRank(), sideBySide), !sideBySide)},
            true};
      })
      .Case([&](MatMulOp product) {
        int64_t rank = rankOf(product.getRhs());
        SmallVector<int64_t> order = llvm::to_vector(llvm::seq<int64_t>(0, rank - 2));
        order.append({rank - 1, rank - 2, rank - 1});
        return AnchorLayouts{{rows(), packed(std::move(order))}, false};
      })
      // A panel's parts of all factors follow each other: they are read in this order.
      .Case([&](StrassenOp product) {
        return AnchorLayouts{{product.isOfPixels() ? pixels() : rows(), packed({2, 0, 1, 2})}, product.isOfPixels()};
      })
      .Default([](Operation *) { return std::nullopt; });
}

} // namespace fathom
