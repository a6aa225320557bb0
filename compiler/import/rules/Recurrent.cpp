// Rules of RNN, GRU and LSTM. The product of all inputs with the weights is one matrix product before a loop over time,
// which adds the product with the state and applies the gates. The other direction is the same loop over reversed data.
#include "compiler/graph/SizeMath.h"
#include "compiler/import/rules/Rounding.h"

using namespace mlir;

namespace fathom::importer {
namespace {

struct Activation {
  std::string name;
  double alpha, beta;
};

// Which of alpha and beta a function has, and their values where the node gives none: those of ONNX's operators.
struct ActivationKind {
  StringLiteral name;
  std::optional<double> alpha, beta;
};
constexpr ActivationKind activationKinds[] = {
    {"Relu", {}, {}},          {"Tanh", {}, {}},         {"Sigmoid", {}, {}},  {"Softsign", {}, {}},
    {"Softplus", {}, {}},      {"LeakyRelu", 0.01, {}},  {"Elu", 1.0, {}},     {"ThresholdedRelu", 1.0, {}},
    {"HardSigmoid", 0.2, 0.5}, {"ScaledTanh", 1.0, 1.0}, {"Affine", 1.0, 0.0},
};

// One direction of the op while its ops are made. Sizes: X is [time, batch, input], a state [batch, hidden].
struct Direction {
  int64_t number = 0;
  bool isReverse = false;
  SmallVector<Activation> activations;
  Value projected;       // [time, batch, gates * hidden]: the inputs' part of all gates, with biases
  Value recurrent, bias; // [hidden, gates * hidden]; the recurrent bias where it is not part of `projected`
  Value peepholes;       // [3 * hidden] or null
};

class Recurrent {
public:
  Recurrent(Node &node, int64_t gates, bool isRounding = false) : node(node), gates(gates), isRounding(isRounding) {}

  LogicalResult run() {
    if (failed(readAttributes()) || failed(readInputs()))
      return failure();
    SmallVector<Value> outputs[3];
    for (Direction &direction : directions)
      if (failed(runDirection(direction, outputs)))
        return failure();
    SmallVector<Value> results;
    for (unsigned i = 0; i < (isLstm() ? 3 : 2); ++i)
      results.push_back(outputs[i].empty() ? node.none() : joined(outputs[i], /*isSequence=*/i == 0));
    return node.finish(results);
  }

private:
  bool isLstm() const { return gates == 4; }
  bool isGru() const { return gates == 3; }

  LogicalResult readAttributes() {
    StringRef direction = node.stringAttr("direction", "forward");
    if (direction != "forward" && direction != "reverse" && direction != "bidirectional")
      return node.error(ErrorCode::BadAttribute) << "direction '" << direction << "' of " << node.type();
    directions.resize(direction == "bidirectional" ? 2 : 1);
    for (auto [i, each] : llvm::enumerate(directions)) {
      each.number = i;
      each.isReverse = direction == "reverse" || i == 1;
    }
    isBatchFirst = node.intAttr("layout", 0);
    isLinearBeforeReset = isGru() && node.intAttr("linear_before_reset", 0);
    couplesForget = isLstm() && node.intAttr("input_forget", 0);
    if (node.hasAttr("clip"))
      clip = node.floatAttr("clip", 0);
    givenHidden = node.intAttr("hidden_size", 0);
    node.ignoreAttr("output_sequence"); // of operator set 1; outputs have names or not
    return readActivations();
  }

  LogicalResult readActivations() {
    SmallVector<StringRef> defaults{"Tanh"};
    if (isLstm())
      defaults = {"Sigmoid", "Tanh", "Tanh"};
    else if (isGru())
      defaults = {"Sigmoid", "Tanh"};
    SmallVector<std::string> names;
    for (size_t i = 0; i < directions.size(); ++i)
      llvm::append_range(names, defaults);
    if (auto given = node.stringsAttr("activations")) {
      if (given->size() != names.size())
        return node.error(ErrorCode::BadAttribute)
               << node.type() << " has " << given->size() << " activations, not " << names.size();
      llvm::copy(*given, names.begin());
    }
    auto alphas = node.floatsAttr("activation_alpha").value_or(SmallVector<double>()),
         betas = node.floatsAttr("activation_beta").value_or(SmallVector<double>());
    auto next = [](SmallVector<double> &list, std::optional<double> otherwise) {
      if (!otherwise || list.empty())
        return otherwise.value_or(0);
      double value = list.front();
      list.erase(list.begin());
      return value;
    };
    for (auto [i, name] : llvm::enumerate(names)) {
      auto kind = llvm::find_if(activationKinds, [&, name = StringRef(name)](const ActivationKind &kind) {
        return kind.name.equals_insensitive(name);
      });
      if (kind == std::end(activationKinds))
        return node.error(ErrorCode::BadAttribute) << node.type() << " has an unknown activation '" << name << "'";
      double alpha = next(alphas, kind->alpha), beta = next(betas, kind->beta);
      directions[i / defaults.size()].activations.push_back({kind->name.str(), alpha, beta});
    }
    return success();
  }

  // Checks an input's sizes; null ones are not checked. Symbolic sizes that the node itself decides become known by a
  // reshape, the others are compared where they meet in an op.
  LogicalResult checkSizes(unsigned index, StringRef name, ArrayRef<AffineExpr> expected) {
    if (!node.hasInput(index))
      return success();
    graph::Sizes sizes = graph::sizesOf(node.input(index));
    SmallVector<int64_t> target;
    bool fits = sizes.size() == expected.size();
    for (size_t d = 0; d < expected.size(); ++d) {
      target.push_back((expected[d] ? graph::constantSize(expected[d]) : std::nullopt).value_or(0));
      fits = fits && (!target[d] || graph::constantSize(sizes[d]).value_or(target[d]) == target[d]);
    }
    if (!fits) {
      auto report = node.error(ErrorCode::BadShape);
      report << name << " of " << node.type() << " is " << node.inputText(index) << ", not of shape [";
      for (auto [d, size] : llvm::enumerate(target))
        report << (d ? ", " : "") << (size ? std::to_string(size) : "?");
      return report << "]";
    }
    for (size_t d = 0; d < expected.size(); ++d)
      if (expected[d] && failed(node.requireSame(sizes[d], expected[d], name)))
        return failure();
    if (node.inputType(index).hasStaticShape() || llvm::all_of(target, [](int64_t size) { return size == 0; }))
      return success();
    Value sized = reshape(node, node.input(index), target, "sized");
    if (sized)
      node.setInput(index, sized);
    return success(sized != nullptr);
  }

  LogicalResult readInputs() {
    auto exact = [&](int64_t size) { return getAffineConstantExpr(size, node.context()); };
    AffineExpr any, count = exact(directions.size());
    element = node.elementType(0);
    if (!isa<FloatType>(element))
      return node.error(ErrorCode::BadType)
             << node.type() << " of " << graph::elementText(element) << " is not defined";
    if (failed(checkSizes(0, "X", {any, any, any})) || failed(checkSizes(2, "R", {any, any, any})))
      return failure();
    std::optional<int64_t> size = graph::constantSize(graph::sizesOf(node.input(2))[2]);
    hidden = size.value_or(givenHidden);
    if (hidden < 1 || (givenHidden && givenHidden != hidden))
      return node.error(ErrorCode::BadAttribute)
             << node.type() << " has hidden_size " << givenHidden << " and R is " << node.inputText(2);
    input = isBatchFirst ? transposed(node.input(0), {1, 0, 2}, "time_first") : node.input(0);
    input = isRounding && input ? rounded(input) : input;
    if (!input)
      return failure();
    graph::Sizes sizes = graph::sizesOf(input);
    time = sizes[0], batch = sizes[1];
    AffineExpr h = exact(hidden), gh = exact(gates * hidden);
    SmallVector<AffineExpr> state{count, batch, h};
    if (isBatchFirst)
      std::swap(state[0], state[1]);
    if (failed(checkSizes(1, "W", {count, gh, sizes[2]})) || failed(checkSizes(2, "R", {count, gh, h})) ||
        failed(checkSizes(3, "B", {count, exact(2 * gates * hidden)})) ||
        failed(checkSizes(4, "sequence_lens", {batch})) || failed(checkSizes(5, "initial_h", state)) ||
        failed(checkSizes(6, "initial_c", state)) || failed(checkSizes(7, "P", {count, exact(3 * hidden)})))
      return failure();
    if (node.hasInput(4)) {
      Type index = node.elementType(4);
      if (!index.isInteger(32) && !index.isInteger(64))
        return node.error(ErrorCode::BadType)
               << "sequence_lens holds " << graph::elementText(index) << " and must hold int32";
      lengths = node.emit("Cast", node.input(4), node.attr("to", TypeAttr::get(node.builder().getI64Type())), "lens");
      if (!lengths || failed(node.requireBelow(node.input(4), graph::size::add(time, 1),
                                               "sequence_lens holds a length that is negative or above the time axis")))
        return failure();
      // Spread over the state once, so that the mask is part of the gates' kernel in every step.
      Value column = node.emit("Unsqueeze", {lengths, node.ints({1}, "axis")}, {}, "lens");
      spreadLengths = node.emit("Expand", {column, node.sizesValue({batch, h}, false, "state")}, {}, "lens");
      if (!spreadLengths)
        return failure();
    }
    return success();
  }

  // What 8 bits hold of the numbers.
  Value rounded(Value value) {
    Quantized held = quantizeByRange(node, value);
    return node.emit("DequantizeLinear", {held.values, held.scale, held.zeroPoint}, {}, "rounded");
  }
  Value binary(StringRef op, Value a, Value b) { return node.emit(op, {a, b}, {}, "step"); }
  Value number(double value) { return node.scalar(value, element, "number"); }
  Value transposed(Value value, ArrayRef<int64_t> perm, StringRef suffix) {
    return node.emit("Transpose", value, node.attr("perm", node.builder().getDenseI64ArrayAttr(perm)), suffix);
  }
  Value slice(Value value, int64_t from, int64_t to, int64_t axis) {
    return node.emit("Slice", {value, node.ints({from}, "from"), node.ints({to}, "to"), node.ints({axis}, "axis")}, {},
                     "part");
  }
  // The part of gates [from, to) along the last of two dimensions.
  Value gate(Value all, int64_t from, int64_t to) { return slice(all, from * hidden, to * hidden, 1); }
  // Input `index` without its dimension of directions.
  Value ofDirection(unsigned index, const Direction &direction, StringRef suffix) {
    if (directions.size() == 1)
      return node.emit("Squeeze", {node.input(index), node.ints({0}, "axis")}, {}, suffix);
    Value number = node.scalar(direction.number, node.builder().getI64Type(), "direction");
    return node.emit("Gather", {node.input(index), number}, node.attr("axis", int64_t(0)), suffix);
  }
  // Against time: the part of every sequence that counts, or all of it.
  Value reversed(Value value) {
    if (lengths)
      return node.emit("ReverseSequence", {value, lengths},
                       {node.attr("batch_axis", 1), node.attr("time_axis", int64_t(0))}, "reversed");
    return node.emit(
        "Slice",
        {value, node.ints({-1}, "from"), node.ints({INT64_MIN}, "to"), node.ints({0}, "axis"), node.ints({-1}, "step")},
        {}, "reversed");
  }

  Value activate(const Activation &function, Value x, bool isGate = true) {
    if (!x)
      return {};
    if (clip && isGate)
      x = node.emit("Clip", {x, number(-*clip), number(*clip)}, {}, "clipped");
    NamedAttribute alpha = node.floatAttrOf("alpha", function.alpha), beta = node.floatAttrOf("beta", function.beta);
    if (function.name == "Affine")
      return binary("Add", binary("Mul", x, number(function.alpha)), number(function.beta));
    if (function.name == "ScaledTanh")
      return binary("Mul", node.emit("Tanh", binary("Mul", x, number(function.beta)), {}, "step"),
                    number(function.alpha));
    SmallVector<NamedAttribute> attrs;
    if (function.name == "LeakyRelu" || function.name == "Elu" || function.name == "ThresholdedRelu")
      attrs = {alpha};
    else if (function.name == "HardSigmoid")
      attrs = {alpha, beta};
    return node.emit(function.name, x, attrs, "step");
  }

  // The state that a direction starts from.
  Value initialState(unsigned index, const Direction &direction) {
    AffineExpr h = getAffineConstantExpr(hidden, node.context());
    Value sizes = node.sizesValue({batch, h}, false, "state");
    if (!node.hasInput(index)) {
      auto zero = DenseElementsAttr::get(RankedTensorType::get({1}, element), Attribute(numberOf(0, element)));
      return node.emit("ConstantOfShape", sizes, node.attr("value", zero), "initial");
    }
    Value state = node.input(index);
    if (isBatchFirst) {
      Value number = node.scalar(direction.number, node.builder().getI64Type(), "direction");
      state = node.emit("Gather", {state, number}, node.attr("axis", 1), "initial");
    } else {
      state = ofDirection(index, direction, "initial");
    }
    // Its batch may be a symbol of its own, which agrees.
    bool isSame = state && graph::size::same(graph::sizesOf(state)[0], batch);
    if (!isSame)
      state = node.emit("Expand", {state, sizes}, {}, "initial");
    // As in ONNX Runtime, a sequence without steps ends with zeros and not with what it would have begun with.
    if (!spreadLengths)
      return state;
    Value hasSteps =
        node.emit("Greater", {spreadLengths, node.scalar(0, node.builder().getI64Type(), "zero")}, {}, "has_steps");
    return node.emit("Where", {hasSteps, state, number(0)}, {}, "initial");
  }

  // The product of all inputs with the weights, and the operands of the loop.
  LogicalResult prepare(Direction &direction) {
    Value x = direction.isReverse ? reversed(input) : input;
    Value weights = transposed(ofDirection(1, direction, "W"), {1, 0}, "W");
    direction.recurrent = transposed(ofDirection(2, direction, "R"), {1, 0}, "R");
    direction.projected = node.emit("MatMul", {x, weights}, {}, "projected");
    if (node.hasInput(3)) {
      Value both = ofDirection(3, direction, "B");
      Value bias = slice(both, 0, gates * hidden, 0), ofState = slice(both, gates * hidden, 2 * gates * hidden, 0);
      // The reset gate scales the recurrent bias too, if it comes after the product.
      if (isLinearBeforeReset)
        direction.bias = ofState;
      else
        bias = binary("Add", bias, ofState);
      direction.projected = node.emit("Add", {direction.projected, bias}, {}, "biased");
    }
    if (isLstm() && node.hasInput(7) && !(direction.peepholes = ofDirection(7, direction, "P")))
      return failure();
    return success(direction.projected && direction.recurrent);
  }

  // The ops of a step come in this order: a product takes in what follows it, and reads the inputs' part there.
  Value product(Value state, Value weights, Value bias = {}) {
    state = isRounding ? rounded(state) : state;
    Value result = node.emit("MatMul", {state, weights}, {}, "product");
    return bias ? binary("Add", result, bias) : result;
  }
  Value inputsAt(const Direction &direction, Value iteration) {
    return node.emit("Gather", {direction.projected, iteration}, node.attr("axis", int64_t(0)), "inputs");
  }

  Value stepRnn(const Direction &direction, Value iteration, Value state) {
    Value sum = product(state, direction.recurrent);
    return activate(direction.activations[0], binary("Add", sum, inputsAt(direction, iteration)));
  }

  // Gates in ONNX's order: update, reset, hidden.
  Value stepGru(const Direction &direction, Value iteration, Value state) {
    const Activation &f = direction.activations[0], &g = direction.activations[1];
    Value update, candidate;
    if (isLinearBeforeReset) {
      Value sum = product(state, direction.recurrent, direction.bias), inputs = inputsAt(direction, iteration);
      auto at = [&](int64_t i) { return activate(f, binary("Add", gate(sum, i, i + 1), gate(inputs, i, i + 1))); };
      update = at(0);
      candidate = activate(g, binary("Add", binary("Mul", at(1), gate(sum, 2, 3)), gate(inputs, 2, 3)));
    } else {
      Value sum = product(state, gate(direction.recurrent, 0, 2)), inputs = inputsAt(direction, iteration);
      Value both = activate(f, binary("Add", sum, gate(inputs, 0, 2)));
      update = gate(both, 0, 1);
      Value kept = product(binary("Mul", gate(both, 1, 2), state), gate(direction.recurrent, 2, 3));
      candidate = activate(g, binary("Add", kept, gate(inputs, 2, 3)));
    }
    return binary("Add", binary("Mul", binary("Sub", number(1), update), candidate), binary("Mul", update, state));
  }

  // Gates in ONNX's order: input, output, forget, cell. Returns the state and the cell.
  std::pair<Value, Value> stepLstm(const Direction &direction, Value iteration, Value state, Value cell) {
    const Activation &f = direction.activations[0], &g = direction.activations[1], &h = direction.activations[2];
    Value all = binary("Add", product(state, direction.recurrent), inputsAt(direction, iteration));
    auto at = [&](const Activation &function, int64_t i, int64_t peephole, Value peeped) {
      Value x = gate(all, i, i + 1);
      if (direction.peepholes && peeped)
        x = binary("Add", x,
                   binary("Mul", slice(direction.peepholes, peephole * hidden, (peephole + 1) * hidden, 0), peeped));
      return activate(function, x);
    };
    Value in = at(f, 0, 0, cell), forget = couplesForget ? binary("Sub", number(1), in) : at(f, 2, 2, cell);
    Value next = binary("Add", binary("Mul", forget, cell), binary("Mul", in, at(g, 3, 0, {})));
    Value out = at(f, 1, 1, next);
    // As in ONNX Runtime, the cell is not clipped.
    return {binary("Mul", out, activate(h, next, /*isGate=*/false)), next};
  }

  LogicalResult runDirection(Direction &direction, SmallVector<Value> (&outputs)[3]) {
    if (failed(prepare(direction)))
      return failure();
    SmallVector<Value> carried{initialState(5, direction)};
    if (isLstm())
      carried.push_back(initialState(6, direction));
    if (llvm::is_contained(carried, Value()))
      return failure();
    bool stacks = node.hasOutput(0);
    auto body = [&](Value iteration, Value condition, ValueRange states) -> FailureOr<SmallVector<Value>> {
      SmallVector<Value> next;
      if (isLstm()) {
        auto [state, cell] = stepLstm(direction, iteration, states[0], states[1]);
        next = {state, cell};
      } else {
        next = {isGru() ? stepGru(direction, iteration, states[0]) : stepRnn(direction, iteration, states[0])};
      }
      Value output = next[0];
      if (spreadLengths) {
        Value counts = binary("Less", iteration, spreadLengths);
        if (stacks)
          output = node.emit("Where", {counts, output, number(0)}, {}, "output");
        for (auto [state, old] : llvm::zip_equal(next, states))
          state = node.emit("Where", {counts, state, old}, {}, "next");
      }
      if (stacks)
        next.push_back(output);
      if (llvm::is_contained(next, Value()))
        return failure();
      next.insert(next.begin(), condition);
      return next;
    };
    auto results = node.loop(node.sizesValue({time}, /*isScalar=*/true, "length"), Value(), carried, body);
    if (failed(results))
      return failure();
    if (stacks)
      outputs[0].push_back(direction.isReverse ? reversed(results->back()) : results->back());
    for (unsigned i = 1; i <= carried.size(); ++i)
      if (node.hasOutput(i))
        outputs[i].push_back((*results)[i - 1]);
    return success(!stacks || outputs[0].back());
  }

  // The directions' results side by side along a new axis, in the node's layout. The last op has the output's name.
  Value joined(ArrayRef<Value> parts, bool isSequence) {
    int64_t axis = isSequence ? 1 : 0;
    StringRef name = isSequence ? "" : "final", inner = isBatchFirst ? "time_first" : name;
    SmallVector<Value> raised;
    for (Value part : parts)
      raised.push_back(
          node.emit("Unsqueeze", {part, node.ints({axis}, "axis")}, {}, parts.size() == 1 ? inner : "part"));
    Value result = parts.size() == 1 ? raised[0] : node.emit("Concat", raised, node.attr("axis", axis), inner);
    if (!isBatchFirst)
      return result;
    return isSequence ? transposed(result, {2, 0, 1, 3}, name) : transposed(result, {1, 0, 2}, name);
  }

  Node &node;
  int64_t gates, hidden = 0, givenHidden = 0;
  bool isRounding; // of inputs and states before they are multiplied
  bool isBatchFirst = false, isLinearBeforeReset = false, couplesForget = false;
  std::optional<double> clip;
  SmallVector<Direction> directions;
  Type element;
  AffineExpr time, batch;
  Value input, lengths, spreadLengths;
};

LogicalResult rnn(Node &node) { return Recurrent(node, 1).run(); }
LogicalResult gru(Node &node) { return Recurrent(node, 3).run(); }
LogicalResult lstm(Node &node) { return Recurrent(node, 4).run(); }

} // namespace

LogicalResult roundingLstm(Node &node) { return Recurrent(node, 4, /*isRounding=*/true).run(); }

ArrayRef<Rule> recurrentRules() {
  static constexpr Rule rules[] = {{"RNN", 3, 6, rnn}, {"GRU", 3, 6, gru}, {"LSTM", 3, 8, lstm}};
  return rules;
}

} // namespace fathom::importer
