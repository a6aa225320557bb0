// Reads what an artifact says of itself from the file, without loading it: it may be for another machine.
#pragma once

#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"

namespace fathom {

struct ArtifactSummary {
  llvm::json::Object manifest;
  uint64_t fileBytes = 0;
  uint64_t codeBytes = 0;
  uint64_t weightBytes = 0; // in the file; 0 when they are seeded
};

llvm::Expected<ArtifactSummary> readArtifact(llvm::StringRef path);

// Whether the file starts as an ELF file does, which tells a compiled model from an ONNX one.
bool looksCompiled(llvm::StringRef path);

} // namespace fathom
