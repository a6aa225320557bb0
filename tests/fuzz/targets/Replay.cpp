// Gives a target every file of a corpus, in builds without libFuzzer: FILE... or FOLDER...
#include "Target.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>
#include <string>
#include <vector>

int main(int argc, char **argv) {
  std::vector<std::string> files;
  for (int i = 1; i < argc; ++i) {
    if (!llvm::sys::fs::is_directory(argv[i])) {
      files.push_back(argv[i]);
      continue;
    }
    std::error_code error;
    for (llvm::sys::fs::directory_iterator entry(argv[i], error), end; entry != end && !error; entry.increment(error))
      files.push_back(entry->path());
  }
  std::sort(files.begin(), files.end());
  for (const std::string &file : files) {
    auto bytes = llvm::MemoryBuffer::getFile(file, /*IsText=*/false, /*RequiresNullTerminator=*/false);
    if (!bytes) {
      llvm::errs() << "cannot read '" << file << "': " << bytes.getError().message() << "\n";
      return 1;
    }
    llvm::errs() << file << "\n"; // the last one named is the one that failed
    // A copy of just these bytes, so that a sanitizer sees a read behind them.
    std::vector<uint8_t> copy((*bytes)->getBufferStart(), (*bytes)->getBufferEnd());
    copy.shrink_to_fit();
    LLVMFuzzerTestOneInput(copy.data(), copy.size());
  }
  llvm::errs() << files.size() << " inputs\n";
  return files.empty();
}
