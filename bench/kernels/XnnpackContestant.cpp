// XNNPACK's convolution; it packs the weights when the operator is made.
#include "bench/kernels/Contestant.h"

#include <cstdio>
#include <cstdlib>
#include <limits>
#include <xnnpack.h>

namespace fathom::bench {
namespace {

void check(xnn_status status) {
  if (status == xnn_status_success)
    return;
  std::fprintf(stderr, "XNNPACK fails with status %d\n", int(status));
  std::exit(1);
}

class XnnpackContestant : public Contestant {
public:
  XnnpackContestant(const Problem &problem, const ProblemData &data)
      : input(data.input), output(problem.rows() * problem.outputs) {
    // It may read a little beyond the last element.
    input.resize(input.size() + XNN_EXTRA_BYTES / sizeof(float));
    check(xnn_initialize(nullptr));
    uint32_t padding = problem.padding(), window = problem.window, stride = problem.stride;
    constexpr float infinity = std::numeric_limits<float>::infinity();
    check(xnn_create_convolution2d_nhwc_f32(padding, padding, padding, padding, window, window, stride, stride, 1, 1, 1,
                                            problem.inputs, problem.outputs, problem.inputs, problem.outputs,
                                            data.weight.data(), nullptr, -infinity, infinity, 0, &convolution));
    check(xnn_setup_convolution2d_nhwc_f32(convolution, 1, problem.height, problem.width, input.data(), output.data(),
                                           nullptr));
  }
  ~XnnpackContestant() override { xnn_delete_operator(convolution); }
  void run() override { check(xnn_run_operator(convolution, nullptr)); }
  std::vector<float> result() const override { return output; }

private:
  std::vector<float> input, output;
  xnn_operator_t convolution = nullptr;
};

} // namespace

std::unique_ptr<Contestant> makeXnnpack(const Problem &problem, const ProblemData &data) {
  return std::make_unique<XnnpackContestant>(problem, data);
}

} // namespace fathom::bench
