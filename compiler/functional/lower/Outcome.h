// What a frame on a stack gives: a call, of which it needs the result, or its own result.
#pragma once

#include "compiler/functional/lower/Value.h"

namespace fathom::functional {

enum class Outcome { Call, Return };

ValueRef makeOutcome(Outcome outcome, std::vector<ValueRef> parts);
bool isOutcome(const Value &value);
bool isCall(const Value &outcome);

} // namespace fathom::functional
