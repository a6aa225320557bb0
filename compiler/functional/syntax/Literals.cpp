// Numbers and tensors as they are written.
#include "compiler/functional/syntax/Literals.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/StringExtras.h"
#include <cmath>
#include <limits>

using namespace llvm;

namespace fathom::functional {

template <typename... T> static Error problem(const char *format, const T &...values) {
  return createStringError(inconvertibleErrorCode(), format, values...);
}

bool isSpecialFloat(StringRef text) {
  return (text.consume_front("inf") || text.consume_front("nan")) && (text.empty() || elementOfSuffix(text));
}

// The whole numbers of an element type.
static std::pair<int64_t, int64_t> rangeOf(ElementType type) {
  auto range = [](auto zero) -> std::pair<int64_t, int64_t> {
    using T = decltype(zero);
    constexpr bool isWide = std::is_unsigned_v<T> && sizeof(T) == 8;
    return {int64_t(std::numeric_limits<T>::min()), isWide ? INT64_MAX : int64_t(std::numeric_limits<T>::max())};
  };
  switch (type) {
  case ElementType::Bool:
    return {0, 1};
  case ElementType::Int8:
    return range(int8_t());
  case ElementType::UInt8:
    return range(uint8_t());
  case ElementType::Int16:
    return range(int16_t());
  case ElementType::UInt16:
    return range(uint16_t());
  case ElementType::Int32:
    return range(int32_t());
  case ElementType::UInt32:
    return range(uint32_t());
  case ElementType::UInt64:
    return range(uint64_t());
  default:
    return range(int64_t());
  }
}

static Error checkRange(int64_t number, ElementType type) {
  auto [least, most] = rangeOf(type);
  if (number < least || number > most)
    return problem("%lld does not fit into %s", (long long)number, nameOf(type).name.data());
  return Error::success();
}

Error readNumber(StringRef text, bool isNegative, Literal &number) {
  StringRef digits = text;
  if (isSpecialFloat(text)) {
    double value = text.starts_with("inf") ? HUGE_VAL : std::nan("");
    number.element = text.size() == 3 ? ElementType::Float32 : *elementOfSuffix(text.drop_front(3));
    if (!isFloat(number.element))
      return problem("'%s' is no number", text.str().c_str());
    number.floats = {isNegative ? -value : value};
    return Error::success();
  }
  size_t suffix = text.find_if_not([](char c) { return isDigit(c) || c == '.'; });
  if (suffix != StringRef::npos && (text[suffix] == 'e' || text[suffix] == 'E')) {
    size_t sign = suffix + 1 < text.size() && (text[suffix + 1] == '+' || text[suffix + 1] == '-');
    suffix = text.find_if_not([](char c) { return isDigit(c); }, suffix + 1 + sign);
  }
  digits = text.take_front(suffix);
  bool hasFraction = digits.find_first_of(".eE") != StringRef::npos;
  number.element = hasFraction ? ElementType::Float32 : ElementType::Int64;
  if (digits.size() < text.size()) {
    auto element = elementOfSuffix(text.drop_front(digits.size()));
    if (!element)
      return problem("'%s' is no number", text.str().c_str());
    number.element = *element;
  }
  if (isFloat(number.element)) {
    double value;
    if (digits.getAsDouble(value))
      return problem("'%s' is no number", text.str().c_str());
    if (number.element != ElementType::Float64)
      value = float(value);
    number.floats = {isNegative ? -value : value};
    return Error::success();
  }
  int64_t value;
  if (hasFraction || ((isNegative ? "-" : "") + digits).str().empty() ||
      StringRef(((isNegative ? "-" : "") + digits).str()).getAsInteger(10, value))
    return problem("'%s' is no number of %s", text.str().c_str(), nameOf(number.element).name.data());
  number.integers = {value};
  return checkRange(value, number.element);
}

Error joinElements(ArrayRef<Literal> elements, std::optional<ElementType> element, Literal &tensor) {
  // The element's own types decide where nothing is written behind the brackets.
  tensor.element = element.value_or(elements.empty() ? ElementType::Int64 : elements[0].element);
  for (const Literal &each : elements)
    if (!element && isFloat(each.element) && !isFloat(tensor.element))
      tensor.element = each.element;
  for (const Literal &each : elements) {
    bool isWhole = !isFloat(each.element);
    if ((tensor.element == ElementType::Bool) != (each.element == ElementType::Bool))
      return problem("bools and numbers in one tensor");
    if (isFloat(tensor.element)) {
      tensor.floats.push_back(isWhole ? double(each.integers[0]) : each.floats[0]);
      if (tensor.element != ElementType::Float64)
        tensor.floats.back() = float(tensor.floats.back());
    } else if (!isWhole) {
      return problem("a fraction in a tensor of %s", nameOf(tensor.element).name.data());
    } else {
      if (Error error = checkRange(each.integers[0], tensor.element))
        return error;
      tensor.integers.push_back(each.integers[0]);
    }
  }
  return Error::success();
}

std::string spellFloat(double number, bool isDouble) {
  if (std::isnan(number))
    return "nan";
  if (std::isinf(number))
    return number < 0 ? "-inf" : "inf";
  // The shortest text that reads as the same number.
  char buffer[64];
  for (int digits = 1; digits <= 17; ++digits) {
    snprintf(buffer, sizeof buffer, "%.*g", digits, number);
    double read = strtod(buffer, nullptr);
    if (isDouble ? read == number : float(read) == float(number))
      break;
  }
  std::string text = buffer;
  return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}

static std::string spellElement(const Literal &literal, size_t i) {
  if (isFloat(literal.element))
    return spellFloat(literal.floats[i], literal.element == ElementType::Float64);
  if (literal.element == ElementType::Bool)
    return literal.integers[i] ? "true" : "false";
  return std::to_string(literal.integers[i]);
}

static void spellRows(const Literal &literal, size_t axis, size_t &next, std::string &text) {
  if (axis == literal.dims.size()) {
    text += spellElement(literal, next++);
    return;
  }
  text += "[";
  for (int64_t i = 0; i < literal.dims[axis]; ++i) {
    text += i ? ", " : "";
    spellRows(literal, axis + 1, next, text);
  }
  text += "]";
}

std::string spell(const Literal &literal) {
  std::string text;
  size_t next = 0;
  spellRows(literal, 0, next, text);
  bool isUsual = literal.element == ElementType::Bool || literal.element == ElementType::Int64 ||
                 literal.element == ElementType::Float32;
  // Without elements nothing else tells the type.
  if (!isUsual || (next == 0 && literal.element != ElementType::Int64))
    text += nameOf(literal.element).suffix;
  return text;
}

} // namespace fathom::functional
