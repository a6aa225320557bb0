// What MLIR says of an op that breaks its definition, in the words of ONNX.
#pragma once

#include "llvm/ADT/StringRef.h"
#include <string>

namespace fathom::importer {

// `op` is the operator's name; the message is one of those that MLIR's generated checks make.
std::string inOnnxWords(llvm::StringRef message, llvm::StringRef op);

} // namespace fathom::importer
