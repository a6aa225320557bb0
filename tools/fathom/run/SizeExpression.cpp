// Expressions as compiler/driver/Manifest.cpp spells them.
#include "tools/fathom/run/SizeExpression.h"

#include <cmath>

using namespace llvm;

namespace fathom {

std::optional<double> evaluate(const json::Value *value, const Sizes &sizes) {
  if (!value)
    return std::nullopt;
  if (auto number = value->getAsNumber())
    return *number;
  if (auto name = value->getAsString()) {
    auto found = sizes.find(*name);
    return found == sizes.end() ? std::nullopt : std::optional<double>(found->second);
  }
  const json::Array *parts = value->getAsArray();
  if (!parts || parts->size() != 3)
    return std::nullopt;
  StringRef sign = (*parts)[0].getAsString().value_or("");
  auto x = evaluate(&(*parts)[1], sizes), y = evaluate(&(*parts)[2], sizes);
  if (!x || !y)
    return std::nullopt;
  if (sign == "+")
    return *x + *y;
  if (sign == "*")
    return *x * *y;
  if (*y <= 0)
    return std::nullopt;
  return sign == "floordiv" ? std::floor(*x / *y) : sign == "ceildiv" ? std::ceil(*x / *y) : std::fmod(*x, *y);
}

} // namespace fathom
