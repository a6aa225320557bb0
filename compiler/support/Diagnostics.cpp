// Errors with stable codes: how a message starts, where it points, and which exit code it leads to.
#include "compiler/support/Diagnostics.h"

#include "mlir/IR/Location.h"

using namespace mlir;

namespace fathom {

// Not Operation::emitError: that adds the op's text, and a user's error should not end in a dump of our IR.
InFlightDiagnostic emitError(Location loc, ErrorCode code) {
  return mlir::emitError(loc) << "[F" << unsigned(code) << "] ";
}

InFlightDiagnostic emitError(Operation *op, ErrorCode code) {
  return emitError(op->getLoc(), code) << op->getName().stripDialect() << ": ";
}

InFlightDiagnostic hint(InFlightDiagnostic &&diagnostic, const Twine &text) {
  diagnostic.attachNote() << "hint: " << text;
  return std::move(diagnostic);
}

int exitCodeFor(ErrorCode code) {
  int kind = int(code) / 1000;
  return kind == 7 ? 70 : kind;
}

StringRef nodeName(Location loc) {
  if (auto name = dyn_cast<NameLoc>(loc))
    return name.getName().strref();
  if (auto call = dyn_cast<CallSiteLoc>(loc))
    return nodeName(call.getCallee());
  if (auto fused = dyn_cast<FusedLoc>(loc))
    for (Location part : fused.getLocations())
      if (StringRef name = nodeName(part); !name.empty())
        return name;
  return {};
}

} // namespace fathom
