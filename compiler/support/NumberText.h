// Numbers as text.
#pragma once

#include <charconv>
#include <string>

namespace fathom {

// With as few digits as reading it again allows: 0.3, 100000.
inline std::string spellNumber(double value) {
  char text[512]; // the largest has 309 digits, the least 325 zeros before its own
  return {text, std::to_chars(text, text + sizeof text, value, std::chars_format::fixed).ptr};
}

} // namespace fathom
