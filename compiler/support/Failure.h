// An error with a code on its way up to whoever reports it: what happened, and perhaps what to do about it.
#pragma once

#include "compiler/support/Diagnostics.h"
#include "llvm/Support/Error.h"

namespace fathom {

class Failure : public llvm::ErrorInfo<Failure> {
public:
  static char ID;
  Failure(ErrorCode code, std::string message, std::string hint)
      : code(code), message(std::move(message)), hint(std::move(hint)) {}
  void log(llvm::raw_ostream &out) const override { out << message; }
  std::error_code convertToErrorCode() const override { return llvm::inconvertibleErrorCode(); }

  ErrorCode code;
  std::string message, hint;
};

llvm::Error fail(ErrorCode code, const llvm::Twine &message, const llvm::Twine &hint = "");

} // namespace fathom
