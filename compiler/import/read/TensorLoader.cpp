// The one way from a TensorProto, wherever it stands in a model, to an attribute; checks sizes before it touches data.
#include "compiler/import/read/TensorLoader.h"
#include "compiler/import/read/ElementTypes.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "onnx.pb.h"
#include "llvm/Support/MathExtras.h"
#include <bit>

using namespace mlir;
using Proto = onnx::TensorProto;

namespace fathom::importer {

static_assert(std::endian::native == std::endian::little, "ONNX's raw data is little-endian and is used in place");

// Small tensors become plain attributes, which print, fold and compare; the rest stays where it was read.
static constexpr int64_t smallElements = 1024;
static constexpr uint64_t smallBytes = 4096;

namespace {
// Bytes of a tensor in the host's layout, and what keeps them alive.
struct Data {
  StringRef bytes;
  std::shared_ptr<const void> owner; // null: `copy` is what `bytes` points to
  SmallVector<char, 0> copy;

  template <typename T> T *allocate(size_t count) {
    copy.resize(count * sizeof(T));
    bytes = StringRef(copy.data(), copy.size());
    return reinterpret_cast<T *>(copy.data());
  }
};
} // namespace

// In memory, where every element has bytes of its own.
static unsigned bytesPerElement(Type type) { return std::max(8u, type.getIntOrFloatBitWidth()) / 8; }

// In a file, where several of less than a byte share one.
static uint64_t packedBytes(RankedTensorType type) {
  unsigned width = type.getElementTypeBitWidth();
  uint64_t count = type.getNumElements();
  return width == 2 || width == 4 ? llvm::divideCeil(count * width, 8) : count * bytesPerElement(type.getElementType());
}

// A byte for each element, of which the first is in the low bits.
static void unpack(Data &data, RankedTensorType type) {
  unsigned width = type.getElementTypeBitWidth(), perByte = 8 / width;
  SmallVector<char, 0> packed(data.bytes.begin(), data.bytes.end());
  auto *to = data.allocate<uint8_t>(type.getNumElements());
  data.owner.reset();
  for (int64_t i = 0, count = type.getNumElements(); i < count; ++i)
    to[i] = (uint8_t(packed[i / perByte]) >> (i % perByte * width)) & ((1u << width) - 1);
}

FailureOr<RankedTensorType> TensorLoader::typeOf(const Proto &tensor, Location loc) {
  Type element = elementTypeFor(tensor.data_type(), loc, "tensor");
  if (!element)
    return failure();
  if (unsigned(tensor.dims_size()) > limits.rank)
    return emitError(loc, ErrorCode::Limit)
           << "tensor of rank " << tensor.dims_size() << ", the limit is " << limits.rank;
  // Zeros are left out of the product, so that no part of the shape can overflow later.
  int64_t bytes = bytesPerElement(element);
  for (int64_t dim : tensor.dims()) {
    if (dim < 0)
      return emitError(loc, ErrorCode::BadTensor) << "tensor has the negative size " << dim;
    if (dim != 0 && llvm::MulOverflow(bytes, dim, bytes))
      return emitError(loc, ErrorCode::BadTensor) << "tensor's sizes multiply to more than 64 bits hold";
  }
  if (uint64_t(bytes) > limits.tensorBytes && !llvm::is_contained(tensor.dims(), 0))
    return emitError(loc, ErrorCode::Limit) << "tensor of " << bytes << " bytes, the limit is " << limits.tensorBytes;
  return RankedTensorType::get(ArrayRef<int64_t>(tensor.dims().data(), tensor.dims_size()), element);
}

// Copies a typed field whose elements are wider than the tensor's; false if a value does not fit.
template <typename To, typename Field> static bool narrow(const Field &field, Data &data) {
  To *to = data.allocate<To>(field.size());
  for (auto value : field) {
    *to = static_cast<To>(value);
    if (static_cast<decltype(value)>(*to++) != value)
      return false;
  }
  return true;
}

static bool takeTyped(const Proto &tensor, const std::shared_ptr<const void> &owner, Data &data) {
  auto inPlace = [&](const auto &field) {
    data.bytes = StringRef(reinterpret_cast<const char *>(field.data()), field.size() * sizeof(*field.data()));
    data.owner = owner;
    return true;
  };
  switch (tensor.data_type()) {
  case Proto::FLOAT:
    return inPlace(tensor.float_data());
  case Proto::DOUBLE:
    return inPlace(tensor.double_data());
  case Proto::INT32:
    return inPlace(tensor.int32_data());
  case Proto::INT64:
    return inPlace(tensor.int64_data());
  case Proto::UINT64:
    return inPlace(tensor.uint64_data());
  case Proto::UINT32:
    return narrow<uint32_t>(tensor.uint64_data(), data);
  case Proto::INT16:
    return narrow<int16_t>(tensor.int32_data(), data);
  case Proto::UINT16:
  case Proto::FLOAT16:
  case Proto::BFLOAT16:
    return narrow<uint16_t>(tensor.int32_data(), data);
  case Proto::INT8:
    return narrow<int8_t>(tensor.int32_data(), data);
  default: // UINT8 and BOOL, bits of floats of 8 bits and of several elements of fewer
    return narrow<uint8_t>(tensor.int32_data(), data);
  }
}

FailureOr<ElementsAttr> TensorLoader::loadStrings(const Proto &tensor, RankedTensorType type, Location loc) {
  if (tensor.string_data_size() != type.getNumElements())
    return emitError(loc, ErrorCode::BadTensor)
           << "tensor has " << tensor.string_data_size() << " strings where its shape needs " << type.getNumElements();
  SmallVector<int64_t> codes;
  for (const std::string &text : tensor.string_data())
    codes.push_back(vocabulary.codeOf(text));
  return ElementsAttr(DenseElementsAttr::getFromRawBuffer(
      type, ArrayRef(reinterpret_cast<const char *>(codes.data()), codes.size() * sizeof(int64_t))));
}

FailureOr<ElementsAttr> TensorLoader::load(const Proto &tensor, StringRef name, Location loc) {
  if (tensor.has_segment())
    return emitError(loc, ErrorCode::BadTensor) << "tensor in segments";
  FailureOr<RankedTensorType> type = typeOf(tensor, loc);
  if (failed(type))
    return failure();
  unsigned elementBytes = bytesPerElement(type->getElementType());
  uint64_t size = packedBytes(*type);

  int fields = !tensor.float_data().empty() + !tensor.double_data().empty() + !tensor.int32_data().empty() +
               !tensor.int64_data().empty() + !tensor.uint64_data().empty() + !tensor.string_data().empty();
  bool isExternal = tensor.data_location() == Proto::EXTERNAL;
  if (fields + tensor.has_raw_data() + isExternal > 1)
    return emitError(loc, ErrorCode::BadTensor) << "tensor has its data in more than one field";
  if (!isExternal && !tensor.external_data().empty())
    return emitError(loc, ErrorCode::BadTensor) << "tensor has external data, but says it has not";
  if (tensor.data_type() == Proto::STRING) {
    if (isExternal || tensor.has_raw_data())
      return emitError(loc, ErrorCode::BadTensor) << "tensor of strings has its data outside of string_data";
    return loadStrings(tensor, *type, loc);
  }

  Data data;
  if (isExternal) {
    FailureOr<ExternalData::Piece> piece = external.find(tensor, size, loc);
    if (failed(piece))
      return failure();
    data.bytes = piece->bytes;
    data.owner = piece->file;
  } else if (tensor.has_raw_data()) {
    data.bytes = tensor.raw_data();
    data.owner = model;
  } else if (!takeTyped(tensor, model, data)) {
    return emitError(loc, ErrorCode::BadTensor)
           << "tensor has a value that does not fit " << elementTypeName(tensor.data_type());
  }
  if (data.bytes.size() != size)
    return emitError(loc, ErrorCode::BadTensor)
           << "tensor has " << data.bytes.size() << " bytes of data where its shape needs " << size;

  if (unsigned width = type->getElementTypeBitWidth(); width == 2 || width == 4) {
    unpack(data, *type);
    size = data.bytes.size();
  }
  if (type->getElementType().isInteger(1)) {
    SmallVector<bool> bools(llvm::map_range(data.bytes, [](char byte) { return byte != 0; }));
    return ElementsAttr(DenseElementsAttr::get(*type, bools));
  }
  ArrayRef<char> bytes(data.bytes.data(), data.bytes.size());
  if (size == 0)
    return ElementsAttr(DenseElementsAttr::get(*type, ArrayRef<Attribute>()));
  if (type->getNumElements() <= smallElements || size <= smallBytes)
    return ElementsAttr(DenseElementsAttr::getFromRawBuffer(*type, bytes));

  bool aligned = reinterpret_cast<uintptr_t>(bytes.data()) % elementBytes == 0;
  AsmResourceBlob blob =
      data.owner && aligned
          ? UnmanagedAsmResourceBlob::allocateWithAlign(bytes, elementBytes,
                                                        [owner = data.owner](void *, size_t, size_t) {})
          : HeapAsmResourceBlob::allocateAndCopyWithAlign(bytes, elementBytes, /*dataIsMutable=*/false);
  return ElementsAttr(DenseResourceElementsAttr::get(*type, name, std::move(blob)));
}

} // namespace fathom::importer
