// NumPy's .npy files. Nothing in a file is trusted: sizes are checked before they are used.
#pragma once

#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Error.h"
#include <memory>
#include <string>
#include <vector>

namespace fathom {

// A dense row-major array in memory of its own, aligned for vector code.
class Array {
public:
  Array() = default;
  // Uninitialised; an error when the size overflows or there is no such memory.
  static llvm::Expected<Array> create(int32_t dtype, llvm::ArrayRef<int64_t> dims);
  // The same in two steps: what it takes, and its memory.
  static llvm::Expected<Array> measure(int32_t dtype, llvm::ArrayRef<int64_t> dims);
  llvm::Error allocate();
  Array(Array &&other) noexcept { swap(other); }
  Array &operator=(Array &&other) noexcept { return swap(other), *this; }
  ~Array() { free(memory); }

  char *data() { return static_cast<char *>(memory); }
  const char *data() const { return static_cast<const char *>(memory); }

  int32_t dtype = 0; // a fathom_dtype
  llvm::SmallVector<int64_t> dims;
  int64_t elements = 0;
  size_t bytes = 0;
  // What holds the texts of strings (dtype FATHOM_STRING) that are not elsewhere.
  std::shared_ptr<const void> texts;
  llvm::StringRef string(int64_t index) const;
  // Makes strings of these; of other types and counts, it must not be called.
  void setStrings(std::vector<std::string> strings);

private:
  void swap(Array &other);
  void *memory = nullptr;
};

// "[1,3,224,224]"
std::string spellDims(llvm::ArrayRef<int64_t> dims);

llvm::Expected<Array> readNpy(llvm::StringRef path);
// Strings are NumPy's fixed-size ones, as long as the longest: without the zeros at their ends.
llvm::Expected<std::vector<std::string>> decodeStrings(llvm::StringRef bytes, llvm::StringRef code, int64_t count);
std::string encodeStrings(const Array &array, int64_t &characters);
// The file appears only when it is whole. bfloat16, which NumPy lacks, is widened to float32.
llvm::Error writeNpy(llvm::StringRef path, const Array &array);

} // namespace fathom
