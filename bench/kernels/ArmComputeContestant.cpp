// Arm Compute Library's convolution, which chooses its algorithm by itself; Winograd's method is allowed, as it is for
// Fathom.
#include "bench/kernels/Contestant.h"

#include <arm_compute/runtime/NEON/NEFunctions.h>
#include <arm_compute/runtime/NEON/NEScheduler.h>
#include <cstring>

namespace fathom::bench {
namespace {

using namespace arm_compute;

// Sizes from the innermost dimension outwards, as the library has them.
void describe(Tensor &tensor, const TensorShape &shape) {
  TensorInfo info(shape, 1, DataType::F32);
  info.set_data_layout(DataLayout::NHWC);
  tensor.allocator()->init(info);
}

// Calls with the place of every run of channels, in order: there may be room between them.
template <typename Use> void forRuns(const Tensor &tensor, Use use) {
  const TensorShape shape = tensor.info()->tensor_shape();
  for (size_t n = 0; n < shape[3]; ++n)
    for (size_t y = 0; y < shape[2]; ++y)
      for (size_t x = 0; x < shape[1]; ++x)
        use(tensor.ptr_to_element(Coordinates(0, x, y, n)), shape[0]);
}

void fill(Tensor &tensor, const std::vector<float> &values) {
  tensor.allocator()->allocate();
  const float *next = values.data();
  forRuns(tensor, [&](uint8_t *place, size_t channels) {
    std::memcpy(place, next, channels * sizeof(float));
    next += channels;
  });
}

class ArmComputeContestant : public Contestant {
public:
  ArmComputeContestant(const Problem &problem, const ProblemData &data) {
    NEScheduler::get().set_num_threads(1);
    describe(input, TensorShape(problem.inputs, problem.width, problem.height));
    describe(weight, TensorShape(problem.inputs, problem.window, problem.window, problem.outputs));
    describe(output, TensorShape(problem.outputs, problem.outputWidth(), problem.outputHeight()));
    unsigned stride = problem.stride, padding = problem.padding();
    convolution.configure(&input, &weight, nullptr, &output, PadStrideInfo(stride, stride, padding, padding),
                          WeightsInfo(), Size2D(1, 1), ActivationLayerInfo(), /*enable_fast_math=*/true);
    fill(input, data.input);
    fill(weight, data.weight);
    output.allocator()->allocate();
  }
  void run() override { convolution.run(); }
  std::vector<float> result() const override {
    std::vector<float> values;
    forRuns(output, [&](const uint8_t *place, size_t channels) {
      const auto *first = reinterpret_cast<const float *>(place);
      values.insert(values.end(), first, first + channels);
    });
    return values;
  }

private:
  Tensor input, weight, output;
  NEConvolutionLayer convolution;
};

} // namespace

std::unique_ptr<Contestant> makeArmCompute(const Problem &problem, const ProblemData &data) {
  return std::make_unique<ArmComputeContestant>(problem, data);
}

} // namespace fathom::bench
