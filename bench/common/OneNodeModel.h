// A model of one operator with random weights: built in memory, compiled for this CPU and loaded.
#pragma once

#include "runtime/fathom_rt.h"

#include <cstdint>
#include <string>
#include <vector>

namespace onnx {
class ModelProto;
}

namespace fathom::bench {

// Numbers in [-1, 1), the same in every run.
std::vector<float> randomFloats(int64_t count, uint64_t seed);

struct ConvShape {
  int64_t height, width, inputs, outputs, window, stride;
};

class OneNodeModel {
public:
  // [rows, depth] x [depth, columns]; the right operand is the weight.
  static OneNodeModel matMul(int64_t rows, int64_t columns, int64_t depth, const std::vector<float> &weight);
  // Image and result have their channels last, as inside a network; the weight is ONNX's, and nothing is padded.
  static OneNodeModel conv(const ConvShape &shape, const std::vector<float> &weight);
  static OneNodeModel relu(int64_t elements);

  OneNodeModel(OneNodeModel &&other) noexcept;
  ~OneNodeModel();

  void run();

  std::vector<float> input, output;

private:
  OneNodeModel(const onnx::ModelProto &proto, std::vector<int64_t> inputDims, std::vector<int64_t> outputDims);

  std::vector<int64_t> inputDims, outputDims;
  fathom_model *model = nullptr;
  fathom_context *context = nullptr;
};

} // namespace fathom::bench
