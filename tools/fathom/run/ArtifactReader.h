// Reads what an artifact says of itself from the file, without loading it: it may be for another machine.
#pragma once

#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"

namespace fathom {

struct ArtifactSummary {
  llvm::json::Object manifest;       // of several CPUs, for one of them
  std::vector<std::string> variants; // the CPUs that it has code for, in the order in which they are tried; or none
  uint64_t fileBytes = 0;
  uint64_t codeBytes = 0;
  uint64_t weightBytes = 0; // in the file; 0 when they are seeded
};

// Of an artifact for several CPUs, `variant` is the one to tell of: without it the one that this machine takes, or else
// the first.
llvm::Expected<ArtifactSummary> readArtifact(llvm::StringRef path, llvm::StringRef variant = "");

// The CPU that a manifest is for.
llvm::StringRef cpuOf(const llvm::json::Object &manifest);

// Whether the file starts as an ELF file does, which tells a compiled model from an ONNX one.
bool looksCompiled(llvm::StringRef path);

} // namespace fathom
