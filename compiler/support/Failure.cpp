// Errors with codes as errors of LLVM.
#include "compiler/support/Failure.h"

namespace fathom {

char Failure::ID;

llvm::Error fail(ErrorCode code, const llvm::Twine &message, const llvm::Twine &hint) {
  return llvm::make_error<Failure>(code, message.str(), hint.str());
}

} // namespace fathom
