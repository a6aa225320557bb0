// Fathom, on the tensors that it would meet inside a network: channels last, and with the zeros around an image that
// its producer would have written.
#include "bench/common/OneNodeModel.h"
#include "bench/kernels/Contestant.h"

#include <algorithm>

namespace fathom::bench {
namespace {

// [outputs, window, window, inputs] to [outputs, inputs, window, window], as ONNX has it.
std::vector<float> channelsFirst(const Problem &problem, const std::vector<float> &weight) {
  int64_t places = problem.window * problem.window;
  std::vector<float> result(weight.size());
  for (int64_t output = 0; output < problem.outputs; ++output)
    for (int64_t place = 0; place < places; ++place)
      for (int64_t input = 0; input < problem.inputs; ++input)
        result[(output * problem.inputs + input) * places + place] =
            weight[(output * places + place) * problem.inputs + input];
  return result;
}

std::vector<float> padded(const Problem &problem, const std::vector<float> &input) {
  int64_t padding = problem.padding(), width = problem.width + 2 * padding;
  std::vector<float> result((problem.height + 2 * padding) * width * problem.inputs);
  for (int64_t y = 0; y < problem.height; ++y)
    std::copy_n(&input[y * problem.width * problem.inputs], problem.width * problem.inputs,
                &result[((y + padding) * width + padding) * problem.inputs]);
  return result;
}

OneNodeModel makeModel(const Problem &problem, const ProblemData &data) {
  if (problem.isProduct())
    return OneNodeModel::matMul(problem.height, problem.outputs, problem.inputs, asMatrix(problem, data.weight));
  int64_t around = 2 * problem.padding();
  return OneNodeModel::conv({problem.height + around, problem.width + around, problem.inputs, problem.outputs,
                             problem.window, problem.stride},
                            channelsFirst(problem, data.weight));
}

class FathomContestant : public Contestant {
public:
  FathomContestant(const Problem &problem, const ProblemData &data) : model(makeModel(problem, data)) {
    model.input = problem.isProduct() ? data.input : padded(problem, data.input);
  }
  void run() override { model.run(); }
  std::vector<float> result() const override { return model.output; }

private:
  OneNodeModel model;
};

} // namespace

std::unique_ptr<Contestant> makeFathom(const Problem &problem, const ProblemData &data) {
  return std::make_unique<FathomContestant>(problem, data);
}

} // namespace fathom::bench
