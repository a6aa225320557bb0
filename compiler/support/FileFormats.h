// Files that are no ONNX model or no artifact, told by their first bytes, so that who gave one learns what to do with
// it.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace fathom {

// "this is a TensorFlow Lite model; convert it with tf2onnx", or an empty string where the bytes tell nothing. Both
// ends of what is given may be cut off a file.
llvm::StringRef recogniseFormat(llvm::StringRef bytes);

// Whether a file may be an ONNX model, by how exporters begin one.
bool looksLikeOnnx(llvm::StringRef bytes);

} // namespace fathom
