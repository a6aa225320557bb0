// OpenBLAS: the matrix product that a convolution comes to, without the work of making it one.
#include "bench/kernels/Contestant.h"

#include <algorithm>
#include <cblas.h>

namespace fathom::bench {
namespace {

// A row for each output pixel, with the window that it sees.
std::vector<float> windows(const Problem &problem, const std::vector<float> &input) {
  std::vector<float> result(problem.rows() * problem.depth());
  auto place = result.begin();
  for (int64_t row = 0; row < problem.rows(); ++row) {
    int64_t top = row / problem.outputWidth() * problem.stride - problem.padding(),
            left = row % problem.outputWidth() * problem.stride - problem.padding();
    for (int64_t y = top; y < top + problem.window; ++y)
      for (int64_t x = left; x < left + problem.window; ++x, place += problem.inputs)
        if (y >= 0 && y < problem.height && x >= 0 && x < problem.width)
          std::copy_n(&input[(y * problem.width + x) * problem.inputs], problem.inputs, place);
  }
  return result;
}

class OpenBlasContestant : public Contestant {
public:
  OpenBlasContestant(const Problem &problem, const ProblemData &data)
      : problem(problem), left(windows(problem, data.input)), right(asMatrix(problem, data.weight)),
        product(problem.rows() * problem.outputs) {
    openblas_set_num_threads(1);
  }
  void run() override {
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, problem.rows(), problem.outputs, problem.depth(), 1,
                left.data(), problem.depth(), right.data(), problem.outputs, 0, product.data(), problem.outputs);
  }
  std::vector<float> result() const override { return product; }

private:
  const Problem &problem;
  const std::vector<float> left, right;
  std::vector<float> product;
};

} // namespace

std::unique_ptr<Contestant> makeOpenBlas(const Problem &problem, const ProblemData &data) {
  return std::make_unique<OpenBlasContestant>(problem, data);
}

} // namespace fathom::bench
