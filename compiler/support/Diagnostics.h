// Errors with stable codes. Every message a user can meet names its code, the ONNX node (the location) and, where one
// helps, a hint.
#pragma once

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"

namespace fathom {

// Whose fault it is decides the exit code: see docs/user/errors.md.
enum class ErrorCode : unsigned {
  // 1xxx: the model or the command line is wrong (exit code 1)
  FileUnreadable = 1001,
  NotOnnx = 1002,
  BadGraph = 1003,     // cyclic, duplicate or missing names, missing opset
  BadTensor = 1004,    // sizes, offsets, raw data that disagree
  ExternalData = 1005, // missing, outside the model's folder, past the end
  BadAttribute = 1006,
  BadType = 1007, // element types that the op does not take
  BadShape = 1008,
  BadPlan = 1009,
  BadTarget = 1010,
  BadArtifact = 1011,
  BadInput = 1012,
  Limit = 1013, // a declared limit of the importer was hit
  FileUnwritable = 1014,
  BadDatabase = 1015, // of something else, damaged, or of a newer version
  BadEntry = 1016,    // of a database of schedules
  // 3xxx: valid, but Fathom cannot do it yet (exit code 3)
  UnsupportedOp = 3001,
  UnsupportedAttribute = 3002,
  UnsupportedType = 3003,
  UnsupportedShape = 3004,
  // 4xxx: results differ (exit code 4); 5xxx: device (exit code 5); 7xxx: our bug (exit code 70)
  Mismatch = 4001,
  Device = 5001,
  Internal = 7001,
};

// Starts an error "[F1003] ..." at a location (an ONNX node's name) or op; stream the message, then hint() where
// useful.
mlir::InFlightDiagnostic emitError(mlir::Location loc, ErrorCode code);
mlir::InFlightDiagnostic emitError(mlir::Operation *op, ErrorCode code);
// Adds a note "hint: ..." that says what the user can do about it.
mlir::InFlightDiagnostic hint(mlir::InFlightDiagnostic &&diagnostic, const llvm::Twine &text);

// The exit code of the process for an error code.
int exitCodeFor(ErrorCode code);

// The ONNX node name in a location, or an empty string.
llvm::StringRef nodeName(mlir::Location loc);

} // namespace fathom
