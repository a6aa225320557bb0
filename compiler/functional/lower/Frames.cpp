// Recursion whose results are used, as a loop over a stack. A frame is a call: its arguments, and the results of the
// calls that it made so far. An iteration evaluates the function for the topmost frame from its beginning, where a call
// that has a result is that result: up to the next call, which becomes a new frame, or to the function's own result,
// which becomes one of the frame beneath. What is computed again on the way is dropped where nothing needs it.
#include "compiler/functional/lower/Evaluate.h"

#include "compiler/functional/lower/Outcome.h"
#include "compiler/functional/syntax/Codes.h"
#include "compiler/graph/Shape.h"

using namespace llvm;

namespace fathom::functional {

// How many calls may be inside each other where the function does not say, and how many one call may make.
static constexpr int64_t usualDepth = 256, mostCallsOfOne = 16;

// The sizes of a tensor as a vector, with another in front.
std::string Evaluator::sizesOf(const TensorType &type, std::optional<int64_t> first, Place place) {
  auto whole = [&](int64_t size) { return builder.constant({ElementType::Int64, {1}, {size}, {}}); };
  Literal known{ElementType::Int64, {0}, {}, {}};
  SmallVector<std::string> parts;
  if (first)
    known.integers.push_back(*first), parts.push_back(whole(*first));
  for (mlir::AffineExpr size : type.sizes) {
    std::optional<int64_t> constant = size ? graph::constantSize(size) : std::nullopt;
    auto input = size ? sizeInputs.find(size) : sizeInputs.end();
    if (!constant && input == sizeInputs.end())
      return "";
    if (constant)
      known.integers.push_back(*constant);
    parts.push_back(constant
                        ? whole(*constant)
                        : builder.one("Gather",
                                      {builder.one("Shape", {input->second.first}, place), whole(input->second.second)},
                                      place));
  }
  known.dims[0] = int64_t(known.integers.size());
  if (known.integers.size() == parts.size())
    return builder.constant(known);
  onnx::NodeProto &joined = builder.node("Concat", parts, 1, place);
  onnx::AttributeProto &axis = *joined.add_attribute();
  axis.set_name("axis"), axis.set_type(onnx::AttributeProto::INT), axis.set_i(0);
  return joined.output(0);
}

// So many rows of zeros. Empty where the sizes are not known in front of the loop.
std::string Evaluator::rows(int64_t count, const TensorType &type, Place place) {
  std::string sizes = sizesOf(type, count, place);
  if (sizes.empty())
    return "";
  onnx::NodeProto &zeros = builder.node("ConstantOfShape", {sizes}, 1, place);
  onnx::AttributeProto &value = *zeros.add_attribute();
  value.set_name("value"), value.set_type(onnx::AttributeProto::TENSOR);
  Literal zero{type.element, {1}, {}, {}};
  isFloat(zero.element) ? zero.floats.push_back(0) : zero.integers.push_back(0);
  describeConstant(zero, *value.mutable_t());
  return zeros.output(0);
}

static void collectHoles(const Value &structure, std::vector<TensorType> &holes) {
  if (Join::isHole(structure))
    holes.push_back(structure.type);
  else if (structure.kind == Value::Choice && structure.name.empty())
    holes.push_back({ElementType::Int64, {}});
  for (const ValueRef &part : structure.parts)
    collectHoles(*part, holes);
}

ValueRef Evaluator::stack(const Value &closure, std::vector<ValueRef> given, Place place, bool isTail) {
  const std::vector<ValueRef> before = store;
  unsigned outside = builder.countNames();
  ValueRef initial = makeValue(Value::Tuple, std::move(given)), arguments = initial, result;
  auto run = [&](const ValueRef &arguments, ArrayRef<ValueRef> results) -> ValueRef {
    ValueRef outcome = activate(closure, arguments->parts, Part::Frame, /*isTail=*/false, results);
    bool isChanged =
        store.size() < before.size() ||
        any_of(zip(before, store), [](auto pair) { return !isSame(*std::get<0>(pair), *std::get<1>(pair)); });
    store = before;
    if (outcome && isChanged)
      return source.error(place, notLowered) << "a recursion whose results are used changes a reference from around it",
             nullptr;
    return outcome;
  };

  // What frames hold, and how many calls one makes at most: found by evaluating until nothing changes.
  std::vector<ValueRef> results;
  for (bool isSettled = false; !isSettled;) {
    isSettled = true;
    onnx::GraphProto scratch;
    builder.enter(scratch);
    ++dynamicDepth;
    auto next = [&](const TensorType &type) { return builder.input(type, place); };
    ValueRef current = joiner.fill(arguments, next);
    results.clear();
    bool isWrong = false;
    for (bool calls = true; calls && !isWrong;) {
      calls = false;
      ValueRef outcome = run(current, results);
      isWrong = !outcome;
      if (outcome && outcome->kind == Value::Nothing)
        break;
      for (const ValueRef &each : isWrong                          ? ArrayRef<ValueRef>()
                                  : outcome->kind == Value::Choice ? ArrayRef(outcome->parts)
                                                                   : ArrayRef(outcome)) {
        calls |= isCall(*each);
        ValueRef &structure = isCall(*each) ? arguments : result;
        ValueRef made = isCall(*each) ? makeValue(Value::Tuple, each->parts) : each->parts[0];
        ValueRef joined = structure ? joiner.join(structure, made, outside) : joiner.opened(made, outside);
        if (!joined) {
          source.error(place, notLowered) << "what this recursion takes or gives is of another kind in every call";
          isWrong = true;
          break;
        }
        isSettled &= structure && Join::isSameStructure(*structure, *joined);
        structure = joined;
      }
      // With other arguments there may be a case without calls.
      if (calls && !result && !isWrong && !isSettled)
        break;
      if (calls && !result && !isWrong) {
        hint(source.error(closure.function->place, endless)
                 << "function " << closure.function->name << " calls itself in every case",
             "a recursion needs a case in which it ends");
        isWrong = true;
      }
      if (calls && !isWrong && results.size() == size_t(mostCallsOfOne)) {
        source.error(place, notLowered) << "a call of " << closure.function->name << " makes more than "
                                        << mostCallsOfOne << " calls of it";
        isWrong = true;
      }
      if (calls && !isWrong)
        results.push_back(joiner.fill(result, next));
    }
    --dynamicDepth;
    builder.leave();
    if (isWrong)
      return nullptr;
  }

  int64_t depth = closure.function->within ? closure.function->within : usualDepth;
  int64_t most = std::max<int64_t>(1, int64_t(results.size()));
  std::vector<TensorType> argumentHoles, resultHoles;
  collectHoles(*arguments, argumentHoles), collectHoles(*result, resultHoles);
  auto whole = [&](int64_t number) { return builder.constant({ElementType::Int64, {}, {number}, {}}); };
  auto one = [&](StringRef op, ArrayRef<std::string> operands) { return builder.one(op, operands, place); };
  std::string axis = builder.constant({ElementType::Int64, {1}, {0}, {}}),
              oneRow = builder.constant({ElementType::Int64, {2}, {1, 1}, {}});
  // What a run is told that has too many calls inside each other.
  std::string tooDeep = closure.function->name + "_deeper_than_" + std::to_string(depth);
  auto write = [&](const std::string &table, const std::string &row, const std::string &value) {
    onnx::NodeProto &node =
        builder.node(tooDeep, {table, one("Reshape", {row, oneRow}), one("Unsqueeze", {value, axis})}, 1, place);
    node.set_op_type("ScatterND");
    return node.output(0);
  };

  // Row 0 is the frame that the whole result goes to. As many rows as calls may be inside each other lie behind it: a
  // row further ends the run.
  std::vector<std::string> operands{"", builder.constant({ElementType::Bool, {}, {1}, {}}), whole(1)}, first;
  operands.push_back(rows(depth + 1, {ElementType::Int64, {}}, place));
  joiner.collect(*initial, *arguments, first, place);
  for (auto [name, type] : zip(first, argumentHoles))
    operands.push_back(rows(depth + 1, type, place));
  for (const TensorType &type : resultHoles)
    operands.push_back(rows((depth + 1) * most + 1, type, place));
  if (is_contained(ArrayRef(operands).drop_front(), ""))
    return hint(source.error(place, notLowered) << "what this recursion keeps for each call has sizes that differ or "
                                                   "that no input has",
                "give sizes by number, or the names that inputs' sizes have"),
           nullptr;
  for (auto [i, name] : enumerate(first))
    operands[4 + i] = write(operands[4 + i], whole(1), name);

  onnx::GraphProto body;
  builder.enter(body);
  ++dynamicDepth;
  builder.input({ElementType::Int64, {}}, place), builder.input({ElementType::Bool, {}}, place);
  auto tableInput = [&](int64_t count, TensorType type) {
    type.sizes.insert(type.sizes.begin(), typing.unifier.number(count));
    return builder.input(type, place);
  };
  std::string top = builder.input({ElementType::Int64, {}}, place),
              done = tableInput(depth + 1, {ElementType::Int64, {}});
  std::vector<std::string> argumentTables, resultTables;
  for (const TensorType &type : argumentHoles)
    argumentTables.push_back(tableInput(depth + 1, type));
  for (const TensorType &type : resultHoles)
    resultTables.push_back(tableInput((depth + 1) * most + 1, type));
  auto load = [&](const ValueRef &structure, const std::vector<std::string> &tables, const std::string &row) {
    size_t table = 0;
    return joiner.fill(structure, [&](const TensorType &) { return one("Gather", {tables[table++], row}); });
  };
  ValueRef current = load(arguments, argumentTables, top);
  std::string count = one("Gather", {done, top}), base = one("Mul", {top, whole(most)});
  // By how many results there are.
  auto runWith = [&](size_t known) {
    std::vector<ValueRef> results;
    for (size_t i = 0; i < known; ++i)
      results.push_back(load(result, resultTables, one("Add", {base, whole(int64_t(i))})));
    return run(current, results);
  };
  auto byCount = [&](auto &self, size_t known) -> ValueRef {
    if (known == results.size())
      return runWith(known);
    ValueRef is = makeTensor(one("Equal", {count, whole(int64_t(known))}), {ElementType::Bool, {}});
    return decide(is, [&] { return runWith(known); }, [&] { return self(self, known + 1); }, place, /*isTail=*/false);
  };
  ValueRef outcome = byCount(byCount, 0);
  std::vector<std::string> outputs;
  if (outcome) {
    auto structure = std::make_shared<Value>();
    structure->kind = Value::Choice;
    structure->parts = {makeOutcome(Outcome::Call, arguments->parts), makeOutcome(Outcome::Return, {result})};
    std::vector<std::string> made;
    joiner.collect(*outcome, *structure, made, place);
    std::string calls = one("Equal", {made[0], whole(0)});
    std::string above = one("Add", {top, whole(1)}), below = one("Sub", {top, whole(1)});
    std::string next = one("Where", {calls, above, below});
    std::string finished = one("Gather", {done, below});
    outputs = {one("Greater", {next, whole(0)}), next};
    outputs.push_back(write(done, next, one("Where", {calls, whole(0), one("Add", {finished, whole(1)})})));
    // What there is nothing to write for goes where nobody reads: row 0 of arguments, the last of results.
    std::string row = one("Where", {calls, above, whole(0)});
    for (size_t i = 0; i < argumentHoles.size(); ++i)
      outputs.push_back(write(argumentTables[i], row, made[1 + i]));
    row = one("Where", {calls, whole((depth + 1) * most), one("Add", {one("Mul", {below, whole(most)}), finished})});
    for (size_t i = 0; i < resultHoles.size(); ++i)
      outputs.push_back(write(resultTables[i], row, made[1 + argumentHoles.size() + i]));
    for (std::string &name : outputs)
      body.add_output()->set_name(name);
  }
  --dynamicDepth;
  builder.leave();
  if (!outcome)
    return nullptr;
  onnx::NodeProto &node = builder.node("Loop", operands, operands.size() - 2, place);
  onnx::AttributeProto &attribute = *node.add_attribute();
  attribute.set_name("body"), attribute.set_type(onnx::AttributeProto::GRAPH);
  *attribute.mutable_g() = std::move(body);
  size_t table = 2 + argumentHoles.size();
  ValueRef made =
      joiner.fill(result, [&](const TensorType &) { return one("Gather", {node.output(table++), whole(0)}); });
  return partOf(made, isTail);
}

} // namespace fathom::functional
