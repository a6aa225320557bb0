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

class OneNodeModel {
public:
  // [rows, depth] x [depth, columns]; the right operand is the weight.
  static OneNodeModel matMul(int64_t rows, int64_t columns, int64_t depth, const std::vector<float> &weight);
  // A square convolution over `size` x `size` pixels whose padding keeps their number.
  static OneNodeModel conv(int64_t size, int64_t channels, int64_t kernel);
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
