// A problem's data, and its definition in double precision, which every contestant's result is compared with.
#include "bench/kernels/Contestant.h"

#include "bench/common/OneNodeModel.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace fathom::bench {
namespace {

double definition(const Problem &problem, const ProblemData &data, int64_t row, int64_t output) {
  int64_t top = row / problem.outputWidth() * problem.stride - problem.padding(),
          left = row % problem.outputWidth() * problem.stride - problem.padding();
  double sum = 0;
  for (int64_t y = 0; y < problem.window; ++y)
    for (int64_t x = 0; x < problem.window; ++x) {
      if (top + y < 0 || top + y >= problem.height || left + x < 0 || left + x >= problem.width)
        continue;
      const float *pixel = &data.input[((top + y) * problem.width + left + x) * problem.inputs];
      const float *weight = &data.weight[((output * problem.window + y) * problem.window + x) * problem.inputs];
      for (int64_t i = 0; i < problem.inputs; ++i)
        sum += double(pixel[i]) * weight[i];
    }
  return sum;
}

} // namespace

ProblemData::ProblemData(const Problem &problem)
    : input(randomFloats(problem.height * problem.width * problem.inputs, 1)),
      weight(randomFloats(problem.outputs * problem.depth(), 2)) {}

std::vector<float> asMatrix(const Problem &problem, const std::vector<float> &weight) {
  std::vector<float> result(weight.size());
  for (int64_t output = 0; output < problem.outputs; ++output)
    for (int64_t i = 0; i < problem.depth(); ++i)
      result[i * problem.outputs + output] = weight[output * problem.depth() + i];
  return result;
}

void checkResult(const Problem &problem, const ProblemData &data, const Contestant &contestant, const char *name) {
  constexpr int samples = 500;
  // Sums of `depth` products of numbers below 1 are about as large as this.
  double magnitude = std::sqrt(double(problem.depth()));
  std::vector<float> result = contestant.result();
  for (int i = 0; i < samples; ++i) {
    // A step that has no divisor in common with the sizes goes everywhere.
    constexpr int64_t step = 1000003;
    int64_t at = i * step % (problem.rows() * problem.outputs), row = at / problem.outputs,
            output = at % problem.outputs;
    double expected = definition(problem, data, row, output);
    float found = result[row * problem.outputs + output];
    if (!(std::abs(found - expected) <= 1e-4 * magnitude)) {
      std::fprintf(stderr, "%s: %s computes %g where %g is right\n", problem.name.c_str(), name, found, expected);
      std::exit(1);
    }
  }
}

} // namespace fathom::bench
