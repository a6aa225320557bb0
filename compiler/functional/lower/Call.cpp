// Calls: inlined, until a recursion stands behind a decision that is made when the program runs.
#include "compiler/functional/lower/Evaluate.h"

#include "compiler/functional/syntax/Codes.h"

using namespace llvm;

namespace fathom::functional {

// How many calls of one function may be inside each other, and how many may be inlined at all.
static constexpr size_t deepestCalls = 1000, mostCalls = 200'000;

ValueRef Evaluator::call(const ValueRef &callee, std::vector<ValueRef> arguments, Place place, bool isTail) {
  if (callee->kind == Value::Choice)
    return select(*callee, 0, [&](const ValueRef &one) { return call(one, arguments, place, isTail); }, place, isTail);
  if (callee->constructor) {
    auto made = std::make_shared<Value>();
    made->kind = Value::Data, made->constructor = callee->constructor, made->parts = std::move(arguments);
    return made;
  }
  // Whether this is a recursion, of which call.
  std::optional<size_t> outer;
  size_t inside = 0;
  for (size_t i = activations.size(); i-- > 0;) {
    const Value &active = *activations[i].closure;
    if (active.function != callee->function || !isSame(active, *callee))
      continue;
    outer = outer ? outer : i;
    ++inside;
  }
  if (outer && activations[*outer].part == Part::Frame) {
    Activation &its = activations[*outer];
    if (frame() != &its)
      return hint(source.error(place, notLowered)
                      << "this call of " << callee->function->name << " is inside of another recursion's loop",
                  "one function that calls nothing but itself has no such loop"),
             nullptr;
    size_t index = its.met++;
    return index < its.results.size() ? its.results[index] : makeValue(Value::Again, std::move(arguments));
  }
  if (outer && activations[*outer].part != Part::Whole) {
    if (isTail && activations.back().loop == int(*outer))
      return makeValue(Value::Again, std::move(arguments));
    // Its result is used: the loop needs a stack.
    return leaving = outer, needsStack = true, nullptr;
  }
  if (outer && dynamicDepth > activations[*outer].dynamicDepth)
    return leaving = outer, nullptr;
  if (inside > deepestCalls || ++calls > mostCalls)
    return hint(source.error(place, endless)
                    << (inside > deepestCalls ? deepestCalls : mostCalls) << " calls "
                    << (inside > deepestCalls ? "of " + callee->function->name + " are inside each other"
                                              : "are inlined")
                    << ", and there is no end",
                "a recursion ends where a condition says so, and is unrolled where that is known before the program "
                "runs; one that is an input makes it a loop"),
           nullptr;

  size_t here = activations.size(), nodes = builder.graph().node_size();
  std::vector<ValueRef> before = store;
  ValueRef result = activate(*callee, arguments, Part::Whole, isTail);
  if (result || leaving != here)
    return result;
  // What has been evaluated of the call is done again, as a loop.
  auto beginAgain = [&] {
    leaving.reset();
    store = before;
    builder.graph().mutable_node()->DeleteSubrange(nodes, builder.graph().node_size() - nodes);
    return !std::exchange(needsStack, false);
  };
  if (beginAgain()) {
    result = loop(*callee, arguments, place, isTail);
    if (result || leaving != here)
      return result;
    beginAgain();
  }
  return stack(*callee, std::move(arguments), place, isTail);
}

Evaluator::Activation *Evaluator::frame() {
  for (Activation &active : reverse(activations))
    if (active.part != Part::Whole)
      return active.part == Part::Frame ? &active : nullptr;
  return nullptr;
}

ValueRef Evaluator::activate(const Value &closure, ArrayRef<ValueRef> arguments, Part part, bool isTail,
                             ArrayRef<ValueRef> results) {
  int loop = part != Part::Whole              ? int(activations.size())
             : isTail && !activations.empty() ? activations.back().loop
                                              : -1;
  activations.push_back({&closure, part, dynamicDepth, loop, results});
  Bindings names;
  for (auto [name, value] : zip(closure.captured, closure.parts))
    if (!name.empty())
      names.bind(name, value);
  const Function &function = *closure.function;
  bool isGlobal = typing.functions.lookup(function.name) == &function;
  if (!function.name.empty() && !isGlobal)
    names.bind(function.name, std::make_shared<Value>(closure));
  for (auto [parameter, argument] : zip(function.parameters, arguments))
    names.bind(parameter.name, argument);
  ValueRef result = partOf(eval(*function.body, names, /*isTail=*/true), /*isTail=*/true);
  activations.pop_back();
  return result;
}

} // namespace fathom::functional
