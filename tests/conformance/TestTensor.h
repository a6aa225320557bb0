// Tensors, sequences and optionals of the ONNX suite as plain bytes, and how a result is compared with one.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace onnx {
class TypeProto;
}

namespace fathom::conformance {

struct TestTensor {
  std::string name;
  int32_t dtype = 0; // ONNX's number, which is the runtime's too
  std::vector<int64_t> dims;
  std::vector<char> bytes;
};

// What the suite has for an input or output: a tensor, or a sequence or optional of tensors.
struct TestValue {
  bool isSequence = false, isOptional = false, isPresent = true;
  std::vector<TestTensor> tensors; // one, or the sequence's elements
};

// Reads a value of the type that the model declares; nothing for strings and maps.
std::optional<TestValue> readValue(const std::filesystem::path &path, const onnx::TypeProto &type);

// The tensors that the artifact has for the value, of which `like` has the types and ranks: whether it is present, then
// itself, or all values of a sequence and the sizes of its elements. Takes what it needs from the front of `like`.
std::vector<TestTensor> tensorsFor(const TestValue &value, std::vector<TestTensor> &like);

// The first difference beyond the ONNX runner's tolerance (|got - want| <= 1e-7 + 1e-3 |want|; integers exactly, NaN
// equals NaN), or "".
std::string compare(const TestTensor &want, const char *got);

} // namespace fathom::conformance
