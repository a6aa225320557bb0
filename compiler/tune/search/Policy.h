// A policy that learns by proximal optimisation (PPO): for each knob whether to go down, stay or go up. Two small
// networks, one that acts and one that values, with the numbers that Chameleon has.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include <random>
#include <vector>

namespace fathom::tune {

// Two hidden layers of 20 with tanh, and Adam.
class Network {
public:
  Network(size_t inputs, size_t outputs, std::mt19937_64 &random);

  std::vector<double> operator()(llvm::ArrayRef<double> input) const;
  // Adds the gradient of a loss, whose derivative by the outputs is given.
  void learn(llvm::ArrayRef<double> input, llvm::ArrayRef<double> derivative);
  // Makes a step against the mean of so many gradients.
  void step(size_t count);

private:
  struct Layer {
    size_t inputs, outputs;
    std::vector<double> weights, gradient, first, second; // the last column is the bias
  };
  std::vector<std::vector<double>> forward(llvm::ArrayRef<double> input) const;

  std::vector<Layer> layers;
  unsigned steps = 0;
};

struct Transition {
  std::vector<double> state;
  std::vector<int> actions; // of each knob: 0 down, 1 stay, 2 up
  double chance = 0;        // the logarithm of the policy's probability of them
  double reward = 0, advantage = 0, target = 0;
};

class Policy {
public:
  Policy(size_t knobs, std::mt19937_64 &random);

  // What to do in a state, by chance as the policy has it.
  Transition act(llvm::ArrayRef<double> state, std::mt19937_64 &random) const;
  // From walks, each with the state that it came to.
  struct Walk {
    std::vector<Transition> transitions;
    std::vector<double> end;
  };
  void learn(std::vector<Walk> walks, std::mt19937_64 &random);

private:
  std::vector<double> chancesOf(llvm::ArrayRef<double> state) const;

  size_t knobs;
  Network actor, critic;
};

} // namespace fathom::tune
