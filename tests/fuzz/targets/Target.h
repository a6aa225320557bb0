// What the fuzz targets share.
#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"
#include <cstdint>

// The function that libFuzzer calls, and that Replay.cpp calls for every file of a corpus.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

namespace fathom::fuzz {

// Ends the process, so that the fuzzer keeps the input: for what is wrong without being a memory error.
[[noreturn]] void fail(const llvm::Twine &why);

// A file that holds these bytes until it is destroyed, in memory.
class MemoryFile {
public:
  MemoryFile(const uint8_t *data, size_t size);
  MemoryFile(const MemoryFile &) = delete;
  ~MemoryFile();
  const char *path() const { return name; }

private:
  int descriptor;
  char name[64];
};

} // namespace fathom::fuzz
