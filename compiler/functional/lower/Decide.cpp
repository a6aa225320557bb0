// Decisions that are made when the program runs: both branches are evaluated, and what they give is joined.
#include "compiler/functional/lower/Evaluate.h"

#include "compiler/functional/lower/Outcome.h"
#include "compiler/functional/syntax/Codes.h"

using namespace llvm;

namespace fathom::functional {

ValueRef Evaluator::partOf(ValueRef value, bool isTail) {
  int loop = activations.empty() || !isTail ? -1 : activations.back().loop;
  if (!value || loop < 0)
    return value;
  bool isAgain = value->kind == Value::Again;
  switch (activations[loop].part) {
  case Part::Whole:
    return value;
  case Part::GoesOn:
    if (value->kind == Value::GoesOn)
      return value;
    return makeValue(Value::GoesOn, {constant({ElementType::Bool, {}, {isAgain}, {}})});
  case Part::Step:
    return isAgain ? value : makeValue(Value::Nothing);
  case Part::End:
    return isAgain ? makeValue(Value::Nothing) : value;
  case Part::Frame:
    if (isOutcome(*value) || value->kind == Value::Nothing)
      return value;
    if (isAgain)
      return makeOutcome(Outcome::Call, value->parts);
    // With more results than calls, this is not the way that the frame went.
    if (activations[loop].met < activations[loop].results.size())
      return makeValue(Value::Nothing);
    return makeOutcome(Outcome::Return, {value});
  }
  return value;
}

ValueRef Evaluator::decide(const ValueRef &condition, Branch then, Branch other, Place place, bool isTail) {
  if (std::optional<int64_t> known = knownScalar(*condition))
    return partOf(*known ? then() : other(), isTail);
  std::vector<ValueRef> before = store;
  onnx::GraphProto graphs[2];
  ValueRef values[2];
  std::vector<ValueRef> stores[2];
  unsigned outside = builder.countNames();
  ++dynamicDepth;
  size_t met = frame() ? frame()->met : 0, metIn[2] = {};
  for (int i : {0, 1}) {
    store = before;
    if (frame())
      frame()->met = met;
    builder.enter(graphs[i]);
    values[i] = partOf((i ? other : then)(), isTail);
    builder.leave();
    stores[i] = std::move(store);
    metIn[i] = frame() ? frame()->met : 0;
    if (!values[i])
      break;
  }
  --dynamicDepth;
  store = before;
  if (!values[0] || !values[1])
    return nullptr;
  bool isAgain = values[0]->kind == Value::Again;
  bool isDifferent = metIn[0] != metIn[1] || isAgain != (values[1]->kind == Value::Again);
  int loop = activations.empty() || !isTail ? -1 : activations.back().loop;
  if (frame() && isDifferent && (loop < 0 || &activations[loop] != frame()))
    return hint(source.error(place, notLowered) << "a recursion's result is used behind a branch that may not need one",
                "let what follows be part of both branches"),
           nullptr;
  return merge(condition, values[0], values[1], graphs[0], graphs[1], std::move(stores[0]), std::move(stores[1]),
               outside, place);
}

ValueRef Evaluator::merge(const ValueRef &condition, ValueRef then, ValueRef other, onnx::GraphProto &thenGraph,
                          onnx::GraphProto &otherGraph, std::vector<ValueRef> thenStore,
                          std::vector<ValueRef> otherStore, unsigned outside, Place place) {
  // Where one branch is never taken in this part of a recursion, the other one needs no condition.
  if (then->kind == Value::Nothing || other->kind == Value::Nothing) {
    bool isThen = other->kind == Value::Nothing;
    builder.splice(isThen ? thenGraph : otherGraph);
    store = isThen ? std::move(thenStore) : std::move(otherStore);
    return isThen ? then : other;
  }
  if (then->kind == Value::GoesOn && knownScalar(*then->parts[0]) && knownScalar(*other->parts[0])) {
    bool ifThen = *knownScalar(*then->parts[0]), ifOther = *knownScalar(*other->parts[0]);
    if (ifThen == ifOther)
      return then;
    return makeValue(Value::GoesOn, {ifThen ? condition
                                            : makeTensor(builder.one("Not", {joiner.nameOf(*condition)}, place),
                                                         {ElementType::Bool, {}})});
  }
  // References that were made in a branch end with it.
  size_t kept = store.size();
  thenStore.resize(kept), otherStore.resize(kept);
  ValueRef all[] = {makeValue(Value::Tuple, std::move(thenStore)), makeValue(Value::Tuple, std::move(otherStore))};
  all[0] = makeValue(Value::Tuple, {then, all[0]}), all[1] = makeValue(Value::Tuple, {other, all[1]});
  ValueRef structure = joiner.join(all[0], all[1], outside);
  if (!structure)
    return hint(source.error(place, notLowered) << "which reference this gives is only known when the program runs",
                "give what the reference refers to instead"),
           nullptr;
  std::string conditionName = joiner.nameOf(*condition);
  onnx::GraphProto *graphs[] = {&thenGraph, &otherGraph};
  unsigned count = 0;
  for (int i : {0, 1}) {
    builder.enter(*graphs[i]);
    std::vector<std::string> names;
    joiner.collect(*all[i], *structure, names, place);
    count = names.size();
    for (std::string &name : names)
      graphs[i]->add_output()->set_name(builder.output(std::move(name), place));
    builder.leave();
  }
  ValueRef made = structure;
  if (count > 0) {
    onnx::NodeProto &node = builder.node("If", {conditionName}, count, place);
    for (int i : {0, 1}) {
      onnx::AttributeProto &attribute = *node.add_attribute();
      attribute.set_name(i ? "else_branch" : "then_branch");
      attribute.set_type(onnx::AttributeProto::GRAPH);
      *attribute.mutable_g() = std::move(*graphs[i]);
    }
    unsigned next = 0;
    made = joiner.fill(structure, [&](const TensorType &) { return node.output(next++); });
  }
  store = made->parts[1]->parts;
  return made->parts[0];
}

ValueRef Evaluator::select(const Value &choice, size_t first, function_ref<ValueRef(const ValueRef &)> each,
                           Place place, bool isTail) {
  if (first + 1 == choice.parts.size())
    return each(choice.parts[first]);
  std::string isIt =
      builder.one("Equal", {choice.name, builder.constant({ElementType::Int64, {}, {int64_t(first)}, {}})}, place);
  return decide(
      makeTensor(isIt, {ElementType::Bool, {}}), [&] { return each(choice.parts[first]); },
      [&] { return select(choice, first + 1, each, place, isTail); }, place, isTail);
}

} // namespace fathom::functional
