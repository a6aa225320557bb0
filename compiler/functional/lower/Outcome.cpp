// Outcomes are data of a type that no program has, so that branches join them as they do data.
#include "compiler/functional/lower/Outcome.h"

#include "llvm/ADT/STLExtras.h"

namespace fathom::functional {

static const ConstructorOf &constructorOf(Outcome outcome) {
  static const DataType type{{}, "outcome", {}, {{{}, "Call", {}}, {{}, "Return", {}}}};
  static const ConstructorOf constructors[] = {{&type, 0}, {&type, 1}};
  return constructors[unsigned(outcome)];
}

ValueRef makeOutcome(Outcome outcome, std::vector<ValueRef> parts) {
  auto made = std::make_shared<Value>();
  made->kind = Value::Data, made->constructor = &constructorOf(outcome), made->parts = std::move(parts);
  return made;
}

bool isOutcome(const Value &value) {
  const Value &one = value.kind == Value::Choice ? *value.parts[0] : value;
  return one.constructor == &constructorOf(Outcome::Call) || one.constructor == &constructorOf(Outcome::Return);
}

bool isCall(const Value &outcome) { return outcome.constructor == &constructorOf(Outcome::Call); }

} // namespace fathom::functional
