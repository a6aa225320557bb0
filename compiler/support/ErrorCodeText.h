// The code at the start of a message, "[F1003] ...", taken off again.
#pragma once

#include "compiler/support/Diagnostics.h"
#include <optional>

namespace fathom {

inline std::optional<ErrorCode> takeErrorCode(std::string &message) {
  llvm::StringRef rest = message;
  unsigned code;
  if (!rest.consume_front("[F") || rest.consumeInteger(10, code) || !rest.consume_front("] "))
    return std::nullopt;
  message = rest.str();
  return ErrorCode(code);
}

} // namespace fathom
