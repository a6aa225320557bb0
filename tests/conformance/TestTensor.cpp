// Decodes the suite's data without the importer's loader, which is under test itself.
#include "TestTensor.h"

#include "onnx.pb.h"
#include "runtime/fathom_rt.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>
#include <cstring>
#include <fstream>
#include <google/protobuf/unknown_field_set.h>

namespace fathom::conformance {
namespace {

constexpr double relative = 1e-3, absolute = 1e-7;

template <typename Stored, typename Values> std::vector<char> packed(const Values &values) {
  std::vector<char> bytes(values.size() * sizeof(Stored));
  for (int i = 0; i < values.size(); ++i) {
    auto value = static_cast<Stored>(values[i]);
    memcpy(bytes.data() + i * sizeof(Stored), &value, sizeof(Stored));
  }
  return bytes;
}

std::vector<char> typedData(const onnx::TensorProto &tensor) {
  switch (tensor.data_type()) {
  case FATHOM_F32:
    return packed<float>(tensor.float_data());
  case FATHOM_F64:
    return packed<double>(tensor.double_data());
  case FATHOM_I64:
    return packed<int64_t>(tensor.int64_data());
  case FATHOM_U64:
    return packed<uint64_t>(tensor.uint64_data());
  case FATHOM_U32:
    return packed<uint32_t>(tensor.uint64_data());
  case FATHOM_I32:
    return packed<int32_t>(tensor.int32_data());
  case FATHOM_U16:
  case FATHOM_I16:
  case FATHOM_F16:
  case FATHOM_BF16:
    return packed<uint16_t>(tensor.int32_data());
  default:
    return packed<uint8_t>(tensor.int32_data());
  }
}

template <typename T> T at(const char *bytes, size_t index) {
  T value;
  memcpy(&value, bytes + index * sizeof(T), sizeof(T));
  return value;
}

double number(const char *bytes, size_t index, int32_t dtype) {
  if (dtype == FATHOM_F32)
    return at<float>(bytes, index);
  if (dtype == FATHOM_F64)
    return at<double>(bytes, index);
  llvm::APFloat value(dtype == FATHOM_F16 ? llvm::APFloat::IEEEhalf() : llvm::APFloat::BFloat(),
                      llvm::APInt(16, at<uint16_t>(bytes, index)));
  bool lost;
  value.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &lost);
  return value.convertToDouble();
}

bool isClose(double got, double want) {
  if (std::isnan(want) || std::isnan(got))
    return std::isnan(want) && std::isnan(got);
  if (std::isinf(want) || std::isinf(got))
    return want == got;
  return std::abs(got - want) <= absolute + relative * std::abs(want);
}

std::optional<TestTensor> decode(const onnx::TensorProto &tensor) {
  TestTensor result{tensor.name(), tensor.data_type(), {tensor.dims().begin(), tensor.dims().end()}, {}};
  size_t element = fathom_dtype_bytes(result.dtype), count = 1;
  for (int64_t dim : result.dims)
    count *= dim;
  if (!element)
    return std::nullopt;
  if (tensor.has_raw_data())
    result.bytes.assign(tensor.raw_data().begin(), tensor.raw_data().end());
  else
    result.bytes = typedData(tensor);
  if (result.bytes.size() != count * element)
    return std::nullopt;
  return result;
}

// SequenceProto and OptionalProto are in a schema that goes with another form of ONNX's own. Both have the tensors in
// field 3, and an optional has a sequence in field 5.
constexpr int tensorField = 3, sequenceField = 5;

bool decodeCompound(const std::string &bytes, TestValue &value) {
  google::protobuf::UnknownFieldSet fields;
  if (!fields.ParseFromString(bytes))
    return false;
  for (int i = 0; i < fields.field_count(); ++i) {
    const auto &field = fields.field(i);
    if (field.type() != google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED)
      continue;
    if (field.number() == sequenceField && !decodeCompound(field.length_delimited(), value))
      return false;
    value.isPresent |= field.number() == sequenceField || field.number() == tensorField;
    if (field.number() != tensorField)
      continue;
    onnx::TensorProto proto;
    auto tensor = proto.ParseFromString(field.length_delimited()) ? decode(proto) : std::nullopt;
    if (!tensor)
      return false;
    value.tensors.push_back(std::move(*tensor));
  }
  return true;
}

TestTensor take(std::vector<TestTensor> &list) {
  TestTensor first = list.empty() ? TestTensor() : list.front();
  if (!list.empty())
    list.erase(list.begin());
  return first;
}

} // namespace

std::optional<TestValue> readValue(const std::filesystem::path &path, const onnx::TypeProto &type) {
  std::ifstream file(path, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(file)), {});
  TestValue value;
  value.isOptional = type.has_optional_type();
  value.isSequence = (value.isOptional ? type.optional_type().elem_type() : type).has_sequence_type();
  if (!value.isOptional && !value.isSequence) {
    onnx::TensorProto tensor;
    auto decoded = tensor.ParseFromString(bytes) ? decode(tensor) : std::nullopt;
    if (!decoded)
      return std::nullopt;
    value.tensors.push_back(std::move(*decoded));
    return value;
  }
  value.isPresent = !value.isOptional;
  return decodeCompound(bytes, value) ? std::optional(value) : std::nullopt;
}

std::vector<TestTensor> tensorsFor(const TestValue &value, std::vector<TestTensor> &like) {
  std::vector<TestTensor> tensors;
  if (value.isOptional) {
    tensors.push_back(take(like));
    tensors.back().dims.clear();
    tensors.back().bytes.assign(1, char(value.isPresent));
  }
  TestTensor first = take(like);
  if (!value.isSequence) {
    // What stands in for an absent tensor has as few elements as it can.
    size_t count = 1;
    for (int64_t &dim : first.dims)
      count *= dim = std::max<int64_t>(dim, 0);
    first.bytes.assign(count * fathom_dtype_bytes(first.dtype), 0);
    tensors.push_back(value.isPresent ? value.tensors.front() : first);
    return tensors;
  }
  TestTensor shapes = take(like);
  std::vector<int64_t> sizes;
  first.bytes.clear();
  for (const TestTensor &element : value.tensors) {
    first.bytes.insert(first.bytes.end(), element.bytes.begin(), element.bytes.end());
    sizes.insert(sizes.end(), element.dims.begin(), element.dims.end());
  }
  int64_t rank = value.tensors.empty() ? std::max<int64_t>(shapes.dims.size() == 2 ? shapes.dims[1] : 0, 0)
                                       : int64_t(value.tensors.front().dims.size());
  size_t element = fathom_dtype_bytes(first.dtype);
  first.dims = {int64_t(element ? first.bytes.size() / element : 0)};
  shapes.dims = {int64_t(value.tensors.size()), rank};
  auto *raw = reinterpret_cast<const char *>(sizes.data());
  shapes.bytes.assign(raw, raw + sizes.size() * sizeof(int64_t));
  tensors.push_back(std::move(first));
  tensors.push_back(std::move(shapes));
  return tensors;
}

std::string compare(const TestTensor &want, const char *got) {
  size_t element = fathom_dtype_bytes(want.dtype), count = want.bytes.size() / element, wrong = 0;
  bool isFloat =
      want.dtype == FATHOM_F32 || want.dtype == FATHOM_F64 || want.dtype == FATHOM_F16 || want.dtype == FATHOM_BF16;
  std::string first;
  for (size_t i = 0; i < count; ++i) {
    if (isFloat) {
      double x = number(got, i, want.dtype), y = number(want.bytes.data(), i, want.dtype);
      if (isClose(x, y))
        continue;
      if (!wrong++)
        first = llvm::formatv("element {0} is {1:f6}, not {2:f6}", i, x, y);
    } else if (memcmp(got + i * element, want.bytes.data() + i * element, element)) {
      auto hex = [&](const char *bytes) { return llvm::toHex(llvm::StringRef(bytes + i * element, element)); };
      if (!wrong++)
        first = llvm::formatv("element {0} is 0x{1}, not 0x{2} (little endian)", i, hex(got), hex(want.bytes.data()));
    }
  }
  return wrong ? llvm::formatv("{0} of {1} elements differ: {2}", wrong, count, first).str() : "";
}

} // namespace fathom::conformance
