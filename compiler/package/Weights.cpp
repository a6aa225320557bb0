// Weight packing.
#include "compiler/package/Weights.h"

#include "compiler/graph/Layout.h"
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

// Blocks of the weight, by number.
struct Blocks {
  int64_t first = 0, end = INT64_MAX;
};

// Of a layout without blocks, all elements; else those of these blocks, of which the first lies at `to`.
template <typename T>
void copyElements(const T *from, T *to, RankedTensorType source, RankedTensorType type, Blocks blocks) {
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
    int64_t end = std::min(blocks.end, int64_t(llvm::divideCeil(size, out.block)));
    for (int64_t block = blocks.first; block < end; ++block) {
      int64_t start = block * out.block, count = std::min(out.block, size - start);
      const T *sourceRow = from + fromAt + start * step;
      T *row = to + toAt + (block - blocks.first) * out.blockStride;
      for (int64_t i = 0; i < count; ++i)
        row[i] = sourceRow[i * step];
    }
  };
  nest(0, in.offset, out.offset);
}

void copyBlocks(const Weight &weight, ArrayRef<char> bytes, MutableArrayRef<char> out, Blocks blocks) {
  auto copy = [&]<typename T>() {
    copyElements(reinterpret_cast<const T *>(bytes.data()), reinterpret_cast<T *>(out.data()), weight.source,
                 weight.type, blocks);
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

// Whether blocks lie one behind the other.
bool areBlocksOutermost(RankedTensorType type) {
  Side side(type);
  int64_t extent = side.block;
  for (auto [d, stride] : llvm::enumerate(side.strides))
    if (int64_t(d) != side.blockedDim)
      extent += (type.getDimSize(d) - 1) * stride;
  return side.block && !side.offset && extent <= side.blockStride;
}

} // namespace

void writeWeight(const Weight &weight, MutableArrayRef<char> out) {
  std::vector<char> storage;
  ArrayRef<char> bytes = rawBytes(weight.value, storage);
  if (bytes.empty())
    return;
  if (weight.source == weight.type)
    return void(std::memcpy(out.data(), bytes.data(), std::min(bytes.size(), out.size())));
  copyBlocks(weight, bytes, out, {});
}

llvm::Error writeWeight(const Weight &weight,
                        llvm::function_ref<llvm::Error(ArrayRef<char> bytes, int64_t before)> write) {
  constexpr int64_t pieceBytes = int64_t(8) << 20;
  std::vector<char> storage, buffer;
  ArrayRef<char> bytes = rawBytes(weight.value, storage);
  if (bytes.empty())
    return llvm::Error::success();
  if (weight.source == weight.type)
    return write(bytes.take_front(weight.bytes), 0);
  if (!areBlocksOutermost(weight.type)) {
    buffer.assign(weight.bytes, 0);
    copyBlocks(weight, bytes, buffer, {});
    return write(buffer, 0);
  }
  Side side(weight.type);
  int64_t blockBytes = side.blockStride * elementBytes(weight.type.getElementType());
  int64_t each = std::max<int64_t>(1, pieceBytes / blockBytes), first = 0;
  for (int64_t before = 0; before < weight.bytes; before += each * blockBytes, first += each) {
    buffer.assign(std::min(each * blockBytes, weight.bytes - before), 0);
    copyBlocks(weight, bytes, buffer, {first, first + each});
    if (llvm::Error error = write(buffer, before))
      return error;
  }
  return llvm::Error::success();
}

} // namespace fathom
