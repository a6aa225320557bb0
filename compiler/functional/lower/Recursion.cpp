// Tail recursion as a loop. What the recursion carries is found by evaluating a step until nothing changes: at first
// all arguments are taken to be what they are in the first call, and those that a step changes become carried.
#include "compiler/functional/lower/Evaluate.h"

#include "compiler/functional/syntax/Codes.h"

using namespace llvm;

namespace fathom::functional {

ValueRef Evaluator::loop(const Value &closure, std::vector<ValueRef> arguments, Place place, bool isTail) {
  // References may change in every iteration as arguments do.
  auto state = [&](std::vector<ValueRef> arguments) {
    return makeValue(Value::Tuple, {makeValue(Value::Tuple, std::move(arguments)), makeValue(Value::Tuple, store)});
  };
  auto run = [&](const ValueRef &state, Part part) {
    store = state->parts[1]->parts;
    return activate(closure, state->parts[0]->parts, part, /*isTail=*/false);
  };
  // Whether the recursion goes on from a state, as the name of a bool. Empty after a report.
  auto goesOn = [&](const ValueRef &state) -> std::string {
    std::vector<ValueRef> before = store;
    ValueRef value = run(state, Part::GoesOn);
    store = std::move(before);
    return value ? joiner.nameOf(*value->parts[0]) : "";
  };
  ValueRef initial = state(std::move(arguments)), structure = initial;
  size_t kept = store.size();
  std::string condition = goesOn(initial);
  if (condition.empty())
    return nullptr;

  onnx::GraphProto body;
  unsigned outside = builder.countNames();
  for (bool isSettled = false; !isSettled;) {
    body.Clear();
    builder.enter(body);
    ++dynamicDepth;
    builder.input({ElementType::Int64, {}}, place), builder.input({ElementType::Bool, {}}, place);
    ValueRef current = joiner.fill(structure, [&](const TensorType &type) { return builder.input(type, place); });
    ValueRef step = run(current, Part::Step);
    std::string goesOnBehind;
    if (step && step->kind == Value::Again) {
      store.resize(kept);
      ValueRef next = state(step->parts), joined = joiner.join(structure, next, outside);
      isSettled = joined && Join::isSameStructure(*structure, *joined);
      if (!joined)
        source.error(place, notLowered) << "what this recursion carries is of another kind in every call";
      else if (isSettled)
        goesOnBehind = goesOn(next);
      if (isSettled && !goesOnBehind.empty()) {
        std::vector<std::string> names{goesOnBehind};
        joiner.collect(*next, *structure, names, place);
        for (std::string &name : names)
          body.add_output()->set_name(builder.output(std::move(name), place));
      }
      structure = joined;
    } else if (step) {
      isSettled = true; // no call at all, as it turns out
    }
    --dynamicDepth;
    builder.leave();
    store = initial->parts[1]->parts;
    if (!step || !structure || (isSettled && step->kind == Value::Again && goesOnBehind.empty()))
      return nullptr;
  }
  ValueRef last = initial;
  if (body.output_size() > 0) {
    std::vector<std::string> operands{"", condition};
    joiner.collect(*initial, *structure, operands, place);
    onnx::NodeProto &node = builder.node("Loop", operands, operands.size() - 2, place);
    onnx::AttributeProto &attribute = *node.add_attribute();
    attribute.set_name("body");
    attribute.set_type(onnx::AttributeProto::GRAPH);
    *attribute.mutable_g() = std::move(body);
    unsigned next = 0;
    last = joiner.fill(structure, [&](const TensorType &) { return node.output(next++); });
  }
  ValueRef result = run(last, Part::End);
  if (result && result->kind == Value::Nothing)
    return hint(source.error(closure.function->place, endless)
                    << "function " << closure.function->name << " calls itself in every case",
                "a recursion needs a case in which it ends"),
           nullptr;
  return result ? partOf(result, isTail) : nullptr;
}

} // namespace fathom::functional
