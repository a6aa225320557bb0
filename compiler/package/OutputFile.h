// Files that appear under their name only when they are whole.
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"
#include <string>

namespace fathom {

// Called with a temporary file's name as the file comes and when it is gone. A program may remove what is there when a
// signal ends it; a library has no business with signals, so by default nobody listens.
extern void (*onTemporaryFile)(llvm::StringRef path, bool exists);

// An output on its way: a temporary file beside its final place, of a name that no other compilation has.
class OutputFile {
public:
  // Follows links. What exists and is no regular file (a device, a pipe) is written to as it is where `special` allows
  // it, and refused elsewhere. Errors say "cannot write 'PATH': why".
  static llvm::Expected<OutputFile> create(llvm::StringRef path, unsigned mode, bool special);
  OutputFile(OutputFile &&other);
  ~OutputFile();

  int descriptor() const { return fd; }
  // Gives the file its name. Without this call it goes away with the object.
  llvm::Error keep();

private:
  OutputFile() = default;

  int fd = -1;
  std::string given, target, temporary; // no temporary file: written in place
};

// Whether an output could be created there, so that long work need not end with that answer. The files that a model is
// read from are no place for it.
llvm::Error checkOutput(llvm::ArrayRef<llvm::StringRef> sources, llvm::StringRef path, bool special);
llvm::Error checkOutput(mlir::ModuleOp module, llvm::StringRef path, bool special);

// Writes a file of text or data; devices and pipes are welcome.
llvm::Error writeFile(llvm::StringRef path, llvm::function_ref<void(llvm::raw_ostream &out)> print);

} // namespace fathom
