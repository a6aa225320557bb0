// What is measured: matrix products of transformers and convolutions, and all convolutions of ResNet-50.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace fathom::bench {

// A convolution with a square window, padded so that stride 1 keeps the number of pixels; batch 1. A matrix product is
// one with 1 x 1 windows over an image of one column.
struct Problem {
  std::string name;
  int64_t height, width, inputs, outputs, window = 1, stride = 1;
  // The best time of any library on one Neoverse-V1 core of `constantsPeak`; 0 where none is known.
  double constantMs = 0;
  int uses = 0; // in ResNet-50

  bool isProduct() const { return width == 1; }
  int64_t padding() const { return window / 2; }
  int64_t outputHeight() const { return (height + 2 * padding() - window) / stride + 1; }
  int64_t outputWidth() const { return isProduct() ? 1 : (width + 2 * padding() - window) / stride + 1; }
  // The size of the matrix product that it comes to.
  int64_t rows() const { return outputHeight() * outputWidth(); }
  int64_t depth() const { return window * window * inputs; }
  double operations() const { return 2.0 * rows() * outputs * depth(); }
};

// GFLOP/s that multiply-adds on registers reached where the constants were measured.
constexpr double constantsPeak = 83;

const std::vector<Problem> &allProblems();

} // namespace fathom::bench
