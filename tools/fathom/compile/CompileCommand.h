// Compiling for the commands: one that is about it, and one that needs a compiled model on the way.
#pragma once

#include "tools/fathom/Commands.h"

namespace fathom {

// Compiles `model` to `output`, printing diagnostics. Gives 0 or the exit code of what went wrong. Cancelling `stop`
// ends tuning with what was found so far.
int compileTo(llvm::StringRef model, llvm::StringRef output, const OptionValues &options, CommandBit command,
              CompileReport &report, Cancellation *stop = nullptr);

// The models whose schedules can be carried over, and the one that was chosen.
void printSources(const tune::TransferSources &sources, llvm::raw_ostream &out);

// A compiled model in a temporary file that goes away with the object.
class TemporaryArtifact {
public:
  TemporaryArtifact() = default;
  TemporaryArtifact(const TemporaryArtifact &) = delete;
  ~TemporaryArtifact();

  // Gives 0 or an exit code, as compileTo does.
  llvm::Expected<int> compile(llvm::StringRef model, const OptionValues &options, CommandBit command,
                              CompileReport &report);
  const std::string &path() const { return file; }

private:
  std::string file;
};

} // namespace fathom
