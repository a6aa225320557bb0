// Backpropagation and PPO, as short as they are.
#include "compiler/tune/search/Policy.h"

#include <algorithm>
#include <cmath>

namespace fathom::tune {
namespace {

constexpr size_t hidden = 20, batch = 32;
constexpr unsigned epochs = 3;
constexpr double learningRate = 1e-3, gamma = 0.9, lambda = 0.99, clip = 0.2, valueWeight = 1, entropyWeight = 0.3;

} // namespace

Network::Network(size_t inputs, size_t outputs, std::mt19937_64 &random) {
  size_t sizes[] = {inputs, hidden, hidden, outputs};
  for (size_t i = 0; i < 3; ++i) {
    size_t count = (sizes[i] + 1) * sizes[i + 1];
    Layer layer{sizes[i], sizes[i + 1], {}, {}, {}, {}};
    // The last layer begins near nothing: all actions are as likely.
    std::normal_distribution<double> normal(0, (i == 2 ? 0.01 : 1) / std::sqrt(double(sizes[i])));
    for (size_t w = 0; w < count; ++w)
      layer.weights.push_back((w + 1) % (sizes[i] + 1) == 0 ? 0 : normal(random));
    layer.gradient.resize(count), layer.first.resize(count), layer.second.resize(count);
    layers.push_back(std::move(layer));
  }
}

// What every layer is given, and the outputs.
std::vector<std::vector<double>> Network::forward(llvm::ArrayRef<double> input) const {
  std::vector<std::vector<double>> values{input.vec()};
  for (const Layer &layer : layers) {
    std::vector<double> output(layer.outputs);
    for (size_t o = 0; o < layer.outputs; ++o) {
      const double *row = &layer.weights[o * (layer.inputs + 1)];
      double sum = row[layer.inputs];
      for (size_t i = 0; i < layer.inputs; ++i)
        sum += row[i] * values.back()[i];
      output[o] = &layer == &layers.back() ? sum : std::tanh(sum);
    }
    values.push_back(std::move(output));
  }
  return values;
}

std::vector<double> Network::operator()(llvm::ArrayRef<double> input) const { return forward(input).back(); }

void Network::learn(llvm::ArrayRef<double> input, llvm::ArrayRef<double> derivative) {
  std::vector<std::vector<double>> values = forward(input);
  std::vector<double> back = derivative.vec();
  for (size_t l = layers.size(); l-- > 0;) {
    Layer &layer = layers[l];
    std::vector<double> below(layer.inputs, 0);
    for (size_t o = 0; o < layer.outputs; ++o) {
      size_t row = o * (layer.inputs + 1);
      for (size_t i = 0; i < layer.inputs; ++i) {
        layer.gradient[row + i] += back[o] * values[l][i];
        below[i] += back[o] * layer.weights[row + i];
      }
      layer.gradient[row + layer.inputs] += back[o];
    }
    for (size_t i = 0; l > 0 && i < below.size(); ++i)
      below[i] *= 1 - values[l][i] * values[l][i];
    back = std::move(below);
  }
}

void Network::step(size_t count) {
  ++steps;
  double firstScale = 1 / (1 - std::pow(0.9, steps)), secondScale = 1 / (1 - std::pow(0.999, steps));
  for (Layer &layer : layers)
    for (size_t w = 0; w < layer.weights.size(); ++w) {
      double gradient = layer.gradient[w] / double(count);
      layer.first[w] = 0.9 * layer.first[w] + 0.1 * gradient;
      layer.second[w] = 0.999 * layer.second[w] + 0.001 * gradient * gradient;
      layer.weights[w] -=
          learningRate * layer.first[w] * firstScale / (std::sqrt(layer.second[w] * secondScale) + 1e-8);
      layer.gradient[w] = 0;
    }
}

Policy::Policy(size_t knobs, std::mt19937_64 &random)
    : knobs(knobs), actor(knobs, 3 * knobs, random), critic(knobs, 1, random) {}

std::vector<double> Policy::chancesOf(llvm::ArrayRef<double> state) const {
  std::vector<double> chances = actor(state);
  for (size_t k = 0; k < knobs; ++k) {
    double *three = &chances[3 * k], most = *std::max_element(three, three + 3), sum = 0;
    for (size_t a = 0; a < 3; ++a)
      sum += three[a] = std::exp(three[a] - most);
    for (size_t a = 0; a < 3; ++a)
      three[a] /= sum;
  }
  return chances;
}

Transition Policy::act(llvm::ArrayRef<double> state, std::mt19937_64 &random) const {
  Transition transition;
  transition.state = state.vec();
  std::vector<double> chances = chancesOf(state);
  for (size_t k = 0; k < knobs; ++k) {
    double drawn = std::uniform_real_distribution<double>()(random);
    int action = drawn < chances[3 * k] ? 0 : drawn < chances[3 * k] + chances[3 * k + 1] ? 1 : 2;
    transition.actions.push_back(action);
    transition.chance += std::log(chances[3 * k + size_t(action)] + 1e-12);
  }
  return transition;
}

void Policy::learn(std::vector<Walk> walks, std::mt19937_64 &random) {
  std::vector<const Transition *> all;
  for (Walk &walk : walks) {
    double next = critic(walk.end)[0], advantage = 0;
    for (size_t i = walk.transitions.size(); i-- > 0;) {
      Transition &transition = walk.transitions[i];
      double value = critic(transition.state)[0];
      advantage = transition.reward + gamma * next - value + gamma * lambda * advantage;
      transition.advantage = advantage, transition.target = advantage + value;
      next = value;
    }
    for (const Transition &transition : walk.transitions)
      all.push_back(&transition);
  }
  double mean = 0, square = 0;
  for (const Transition *transition : all)
    mean += transition->advantage / double(all.size());
  for (const Transition *transition : all)
    square += (transition->advantage - mean) * (transition->advantage - mean) / double(all.size());
  double scale = 1 / (std::sqrt(square) + 1e-8);
  for (unsigned epoch = 0; epoch < epochs; ++epoch) {
    std::shuffle(all.begin(), all.end(), random);
    for (size_t begin = 0; begin < all.size(); begin += batch) {
      size_t count = std::min(batch, all.size() - begin);
      for (const Transition *transition : llvm::ArrayRef(all).slice(begin, count)) {
        std::vector<double> chances = chancesOf(transition->state), derivative(3 * knobs);
        double chance = 0;
        for (size_t k = 0; k < knobs; ++k)
          chance += std::log(chances[3 * k + size_t(transition->actions[k])] + 1e-12);
        double ratio = std::exp(chance - transition->chance), advantage = (transition->advantage - mean) * scale;
        // Where clipping holds the ratio, the loss does not depend on it.
        bool isClipped = advantage > 0 ? ratio > 1 + clip : ratio < 1 - clip;
        for (size_t k = 0; k < knobs; ++k) {
          double entropy = 0;
          for (size_t a = 0; a < 3; ++a)
            entropy -= chances[3 * k + a] * std::log(chances[3 * k + a] + 1e-12);
          for (size_t a = 0; a < 3; ++a) {
            double p = chances[3 * k + a], isTaken = int(a) == transition->actions[k];
            derivative[3 * k + a] = isClipped ? 0 : -advantage * ratio * (isTaken - p);
            // The mean entropy of knobs is to be large.
            derivative[3 * k + a] += entropyWeight / double(knobs) * p * (std::log(p + 1e-12) + entropy);
          }
        }
        actor.learn(transition->state, derivative);
        critic.learn(transition->state, {2 * valueWeight * (critic(transition->state)[0] - transition->target)});
      }
      actor.step(count), critic.step(count);
    }
  }
}

} // namespace fathom::tune
