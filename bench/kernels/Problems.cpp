// The list of problems. The constants are of Arm Compute Library 20.08 and XNNPACK of February 2022, whichever was
// faster, measured once; they stand in where those libraries are not installed.
#include "bench/kernels/Problems.h"

namespace fathom::bench {
namespace {

Problem product(int64_t rows, int64_t columns, int64_t depth, double constantMs = 0) {
  std::string name = "gemm/" + std::to_string(rows) + "x" + std::to_string(columns) + "x" + std::to_string(depth);
  return {name, rows, 1, depth, columns, 1, 1, constantMs};
}

Problem layer(int64_t inputs, int64_t outputs, int64_t window, int64_t stride, int64_t pixels, int uses,
              double constantMs) {
  std::string name = "resnet50/" + std::to_string(inputs) + ">" + std::to_string(outputs) + " " +
                     std::to_string(window) + "x" + std::to_string(window) + (stride > 1 ? " s2" : "") + " @" +
                     std::to_string(pixels);
  return {name, pixels, pixels, inputs, outputs, window, stride, constantMs, uses};
}

} // namespace

const std::vector<Problem> &allProblems() {
  static const std::vector<Problem> problems{
      product(128, 768, 768, 1.928),
      product(128, 3072, 768, 7.834),
      product(128, 768, 3072, 7.854),
      product(512, 512, 512),
      product(3136, 64, 576),
      product(196, 256, 2304),
      product(49, 512, 4608),
      product(1, 4096, 4096),
      layer(3, 64, 7, 2, 224, 1, 5.38),
      layer(64, 64, 1, 1, 56, 1, 0.40),
      layer(64, 64, 3, 1, 56, 3, 1.54),
      layer(64, 256, 1, 1, 56, 4, 1.61),
      layer(256, 64, 1, 1, 56, 2, 1.58),
      layer(256, 128, 1, 1, 56, 1, 3.08),
      layer(128, 128, 3, 2, 56, 1, 3.55),
      layer(128, 512, 1, 1, 28, 4, 1.37),
      layer(256, 512, 1, 2, 56, 1, 2.72),
      layer(512, 128, 1, 1, 28, 3, 1.51),
      layer(128, 128, 3, 1, 28, 3, 1.56),
      layer(512, 256, 1, 1, 28, 1, 2.78),
      layer(256, 256, 3, 2, 28, 1, 3.24),
      layer(256, 1024, 1, 1, 14, 6, 1.34),
      layer(512, 1024, 1, 2, 28, 1, 2.75),
      layer(1024, 256, 1, 1, 14, 5, 1.59),
      layer(256, 256, 3, 1, 14, 5, 1.23),
      layer(1024, 512, 1, 1, 14, 1, 2.73),
      layer(512, 512, 3, 2, 14, 1, 3.91),
      layer(512, 2048, 1, 1, 7, 3, 1.65),
      layer(1024, 2048, 1, 2, 14, 1, 3.49),
      layer(2048, 512, 1, 1, 7, 2, 1.68),
      layer(512, 512, 3, 1, 7, 2, 2.07),
  };
  return problems;
}

} // namespace fathom::bench
