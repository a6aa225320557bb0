// Tensors of the ONNX suite as plain bytes, and how a result is compared with one.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace fathom::conformance {

struct TestTensor {
  std::string name;
  int32_t dtype = 0; // ONNX's number, which is the runtime's too
  std::vector<int64_t> dims;
  std::vector<char> bytes;
};

// Reads a TensorProto; nothing for what is not one (a sequence, an optional) or holds strings.
std::optional<TestTensor> readTensor(const std::filesystem::path &path);

// The first difference beyond the ONNX runner's tolerance (|got - want| <= 1e-7 + 1e-3 |want|; integers exactly, NaN
// equals NaN), or "".
std::string compare(const TestTensor &want, const char *got);

} // namespace fathom::conformance
