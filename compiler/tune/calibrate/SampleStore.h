// Samples in memory and, where a file is named, in it.
#pragma once

#include "compiler/tune/calibrate/Sample.h"

namespace fathom::tune {

class SampleStore {
public:
  // Reads a file.
  static llvm::Expected<SampleStore> read(std::string path, bool analysesAgain = false);
  // Reads what the file has, if there is one: samples of this target and so many threads. No path, no file.
  static llvm::Expected<SampleStore> open(std::string path, const std::string &target, int threads,
                                          bool analysesAgain = false);

  // To the file at once: what is measured is not lost.
  llvm::Error add(llvm::ArrayRef<Sample> samples);

  // Writes the file anew, with what `change` makes of its samples.
  llvm::Error changeAll(llvm::function_ref<void(llvm::MutableArrayRef<Sample>)> change);

  const SampleFile &all() const { return file; }

private:
  std::string path;
  SampleFile file;
  uint64_t whole = 0; // bytes of the file that are whole lines
};

} // namespace fathom::tune
