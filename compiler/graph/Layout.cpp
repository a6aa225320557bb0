// Strides, offsets and buffer sizes from a tensor's type.
#include "compiler/graph/Layout.h"
#include "compiler/graph/SizeMath.h"

using namespace mlir;

namespace fathom {

static AffineExpr simplify(AffineExpr expr) { return graph::size::simplified(expr); }

bool Layout::hasHalo() const {
  return llvm::any_of(haloLow, [](int64_t h) { return h; }) || llvm::any_of(haloHigh, [](int64_t h) { return h; });
}

bool Layout::hasRoom() const {
  return llvm::any_of(room, [](int64_t others) { return others; });
}

SmallVector<int64_t> orderOf(RankedTensorType type) {
  if (auto encoding = dyn_cast_or_null<graph::EncodingAttr>(type.getEncoding());
      encoding && !encoding.getOrder().empty())
    return llvm::to_vector(encoding.getOrder());
  return llvm::to_vector(llvm::seq<int64_t>(0, type.getRank()));
}

Layout layoutOf(RankedTensorType type) {
  MLIRContext *context = type.getContext();
  int64_t rank = type.getRank();
  Layout layout;
  layout.sizes = graph::sizesOf(type);
  layout.strides.assign(rank, getAffineConstantExpr(0, context));
  layout.haloLow.assign(rank, 0);
  layout.haloHigh.assign(rank, 0);
  auto encoding = dyn_cast_or_null<graph::EncodingAttr>(type.getEncoding());
  if (encoding && !encoding.getHalo().empty())
    for (int64_t d = 0; d < rank; ++d)
      layout.haloLow[d] = encoding.getHalo()[2 * d], layout.haloHigh[d] = encoding.getHalo()[2 * d + 1];
  layout.room.assign(rank, 0);
  if (encoding && !encoding.getRoom().empty())
    layout.room = llvm::to_vector(encoding.getRoom());
  layout.block = encoding ? encoding.getBlock() : 0;
  SmallVector<int64_t> physical = orderOf(type);
  if (layout.block)
    layout.blockedDim = physical.back();

  AffineExpr stride = getAffineConstantExpr(1, context);
  layout.offset = getAffineConstantExpr(0, context);
  for (int64_t position = physical.size() - 1; position >= 0; --position) {
    int64_t d = physical[position];
    bool inner = layout.block && position == int64_t(physical.size()) - 1;
    AffineExpr extent = layout.sizes[d] + (layout.haloLow[d] + layout.haloHigh[d] + layout.room[d]);
    if (inner) {
      layout.strides[d] = stride;
      stride = simplify(stride * layout.block);
      continue;
    }
    if (d == layout.blockedDim) {
      layout.blockStride = stride;
      extent = extent.ceilDiv(layout.block);
    } else {
      layout.strides[d] = stride;
      layout.offset = simplify(layout.offset + stride * layout.haloLow[d]);
    }
    stride = simplify(stride * extent);
  }
  layout.elements = stride;
  layout.order = physical;
  if (layout.block)
    layout.order.pop_back();
  return layout;
}

RankedTensorType withLayout(RankedTensorType type, ArrayRef<int64_t> order, int64_t block, ArrayRef<int64_t> halo,
                            ArrayRef<int64_t> room) {
  auto encoding = dyn_cast_or_null<graph::EncodingAttr>(type.getEncoding());
  AffineMap shape = encoding ? encoding.getShape() : AffineMap();
  bool identity = block == 0 && llvm::equal(order, llvm::seq<int64_t>(0, order.size()));
  bool noHalo = llvm::all_of(halo, [](int64_t h) { return h == 0; });
  bool noRoom = llvm::all_of(room, [](int64_t others) { return others == 0; });
  ArrayRef<int64_t> none;
  Attribute result;
  if (shape || !identity || !noHalo || !noRoom)
    result = graph::EncodingAttr::get(type.getContext(), shape, identity ? none : order, block, noHalo ? none : halo,
                                      noRoom ? none : room);
  return RankedTensorType::get(type.getShape(), type.getElementType(), result);
}

RankedTensorType withoutRoom(RankedTensorType type) {
  auto encoding = dyn_cast_or_null<graph::EncodingAttr>(type.getEncoding());
  if (!encoding || encoding.getRoom().empty())
    return type;
  SmallVector<int64_t> order = orderOf(type);
  return withLayout(type, order, encoding.getBlock(), encoding.getHalo());
}

bool isRowMajor(RankedTensorType type) {
  Layout layout = layoutOf(type);
  if (layout.hasHalo() || layout.hasRoom() || layout.block)
    return false;
  int64_t last = -1;
  for (int64_t d : layout.order) {
    if (graph::isConstant(layout.sizes[d], 1))
      continue;
    if (d < last)
      return false;
    last = d;
  }
  return true;
}

int64_t elementBytes(Type element) { return llvm::divideCeil(element.getIntOrFloatBitWidth(), 8); }

AffineExpr bufferBytes(RankedTensorType type) {
  return simplify(layoutOf(type).elements * elementBytes(type.getElementType()));
}

int64_t innermostDim(RankedTensorType type) {
  Layout layout = layoutOf(type);
  for (int64_t d : llvm::reverse(layout.order))
    if (!graph::isConstant(layout.sizes[d], 1))
      return graph::isConstant(layout.strides[d], 1) ? d : -1;
  return -1;
}

} // namespace fathom
