// Who computes a problem: Fathom, and the libraries that were there when this was built.
#pragma once

#include "bench/kernels/Problems.h"

#include <functional>
#include <memory>

namespace fathom::bench {

// Channels last: `input` is [height, width, inputs], `weight` [outputs, window, window, inputs].
struct ProblemData {
  explicit ProblemData(const Problem &problem);
  std::vector<float> input, weight;
};

// The weight as [depth, outputs], the right operand of the product that the problem comes to.
std::vector<float> asMatrix(const Problem &problem, const std::vector<float> &weight);

class Contestant {
public:
  virtual ~Contestant() = default;
  // On one thread, the calling one.
  virtual void run() = 0;
  // [rows, outputs], of the last run.
  virtual std::vector<float> result() const = 0;
};

using MakeContestant = std::function<std::unique_ptr<Contestant>(const Problem &, const ProblemData &)>;

std::unique_ptr<Contestant> makeFathom(const Problem &problem, const ProblemData &data);
std::unique_ptr<Contestant> makeOpenBlas(const Problem &problem, const ProblemData &data);
std::unique_ptr<Contestant> makeXnnpack(const Problem &problem, const ProblemData &data);
std::unique_ptr<Contestant> makeArmCompute(const Problem &problem, const ProblemData &data);
std::unique_ptr<Contestant> makeOneDnn(const Problem &problem, const ProblemData &data);

// Ends the program when a result is not what the definition of convolution gives, at some of the elements.
void checkResult(const Problem &problem, const ProblemData &data, const Contestant &contestant, const char *name);

} // namespace fathom::bench
