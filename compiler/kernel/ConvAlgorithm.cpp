// Names of algorithms, and where each of them is possible.
#include "compiler/kernel/ConvAlgorithm.h"

#include "compiler/kernel/Choices.h"
#include "compiler/kernel/KernelClass.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom {

constexpr StringLiteral attribute = "graph.algorithm", swapped = "graph.swapped_pairs";

StringRef algorithmOf(Operation *conv) {
  auto name = conv->getAttrOfType<StringAttr>(attribute);
  return name ? name.getValue() : "";
}

void setAlgorithm(Operation *conv, StringRef name) {
  conv->setAttr(attribute, StringAttr::get(conv->getContext(), name));
}

StringRef spatialPackName(Operation *conv) {
  return cast<ConvOp>(conv).getGroup() == 1 ? "spatial_pack" : "grouped_spatial_pack";
}

bool takesSpatialPack(Operation *conv) { return algorithmOf(conv) == spatialPackName(conv) && canSpatialPack(conv); }

bool hasSwappedPairs(Operation *conv) { return conv->hasAttr(swapped); }

void setSwappedPairs(Operation *conv) { conv->setAttr(swapped, UnitAttr::get(conv->getContext())); }

std::string algorithmName(Operation *anchor, const Schedule &schedule) {
  if (auto winograd = dyn_cast_or_null<WinogradConvOp>(anchor))
    return "winograd" + std::to_string(winograd.getTile());
  if (isa_and_nonnull<StrassenOp>(anchor))
    return "strassen";
  if (!isa_and_nonnull<ConvOp>(anchor))
    return "";
  if (isDepthwise(anchor))
    return "depthwise";
  if (takesSpatialPack(anchor))
    return spatialPackName(anchor).str();
  return typed<ContractSchedule>(schedule).packed ? "gemm" : "direct";
}

std::string whyOtherAlgorithm(Operation *anchor, const Schedule &schedule) {
  std::string name = algorithmName(anchor, schedule);
  if (name.empty() || algorithmOf(anchor).empty() || algorithmOf(anchor) == name)
    return "";
  if (name == "depthwise")
    return "every channel is a group of its own, which has a kernel for it";
  return llvm::StringSwitch<StringRef>(algorithmOf(anchor))
      .Case("direct", "what is computed where it is read has to be packed")
      .Case("gemm", "with groups, sizes known only at run time, or results that cannot hold partial sums, the input is "
                    "read in place")
      .Case("spatial_pack", "it is for convolutions of 32-bit floats without groups, and with known channels")
      .Case("grouped_spatial_pack", "it is for convolutions of 32-bit floats with groups")
      .Case("strassen", "it is for constant windows of one pixel that move by one, between even numbers of channels "
                        "without groups, of images whose size is known, with --fp fast, outside of loops and branches")
      .Default("it is for constant windows of 3 x 3 that move by one over several channels, with --fp fast, outside of "
               "loops and branches")
      .str();
}

} // namespace fathom
