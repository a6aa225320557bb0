// Weight packing.
#include "compiler/package/Weights.h"

#include "mlir/IR/DialectResourceBlobManager.h"

using namespace mlir;
using namespace fathom::graph;

namespace fathom {
namespace {

// The raw bytes of a constant in row-major order, one byte for a bool; `storage` holds them when they have to be
// expanded.
ArrayRef<char> rawBytes(ElementsAttr value, std::vector<char> &storage) {
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(value)) {
    AsmResourceBlob *blob = resource.getRawHandle().getBlob();
    return blob ? blob->getData() : ArrayRef<char>();
  }
  auto dense = cast<DenseElementsAttr>(value);
  int64_t count = dense.getNumElements(), bytes = elementBytes(dense.getElementType());
  if (dense.getElementType().isInteger(1)) {
    for (bool element : dense.getValues<bool>())
      storage.push_back(element);
    return storage;
  }
  if (!dense.isSplat())
    return dense.getRawData();
  storage.resize(count * bytes);
  for (int64_t i = 0; i < count; ++i)
    std::memcpy(storage.data() + i * bytes, dense.getRawData().data(), bytes);
  return storage;
}

struct Side {
  SmallVector<int64_t> strides;
  int64_t blockedDim, block, blockStride, offset;
  explicit Side(RankedTensorType type) {
    Layout layout = layoutOf(type);
    for (AffineExpr stride : layout.strides)
      strides.push_back(*constantSize(stride));
    blockedDim = layout.blockedDim;
    block = layout.block;
    blockStride = layout.block ? *constantSize(layout.blockStride) : 0;
    offset = *constantSize(layout.offset);
  }
};

template <typename T> void copyElements(const T *from, T *to, RankedTensorType source, RankedTensorType type) {
  Side in(source), out(type);
  ArrayRef<int64_t> shape = type.getShape();
  SmallVector<int64_t> order = layoutOf(type).order;
  if (out.block) { // the position within a block is innermost
    order.erase(llvm::find(order, out.blockedDim));
    order.push_back(out.blockedDim);
  }
  std::function<void(size_t, int64_t, int64_t)> nest = [&](size_t depth, int64_t fromAt, int64_t toAt) {
    if (depth == order.size()) {
      to[toAt] = from[fromAt];
      return;
    }
    int64_t d = order[depth], size = shape[d], step = in.strides[d];
    bool last = depth + 1 == order.size();
    if (d != out.blockedDim) {
      for (int64_t i = 0; i < size; ++i)
        last ? void(to[toAt + i * out.strides[d]] = from[fromAt + i * step])
             : nest(depth + 1, fromAt + i * step, toAt + i * out.strides[d]);
      return;
    }
    for (int64_t start = 0, block = 0; start < size; start += out.block, ++block) {
      int64_t count = std::min(out.block, size - start);
      const T *sourceRow = from + fromAt + start * step;
      T *row = to + toAt + block * out.blockStride;
      for (int64_t i = 0; i < count; ++i)
        row[i] = sourceRow[i * step];
    }
  };
  nest(0, in.offset, out.offset);
}

} // namespace

void writeWeight(const Weight &weight, MutableArrayRef<char> out) {
  std::vector<char> storage;
  ArrayRef<char> bytes = rawBytes(weight.value, storage);
  if (bytes.empty())
    return;
  if (weight.source == weight.type)
    return void(std::memcpy(out.data(), bytes.data(), std::min(bytes.size(), out.size())));
  auto copy = [&]<typename T>() {
    copyElements(reinterpret_cast<const T *>(bytes.data()), reinterpret_cast<T *>(out.data()), weight.source,
                 weight.type);
  };
  switch (elementBytes(weight.type.getElementType())) {
  case 1:
    return copy.operator()<uint8_t>();
  case 2:
    return copy.operator()<uint16_t>();
  case 4:
    return copy.operator()<uint32_t>();
  default:
    return copy.operator()<uint64_t>();
  }
}

} // namespace fathom
