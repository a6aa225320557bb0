// Any text as the description of a machine. What is taken over is printed and read back: the same machine.
#include "Target.h"

#include "compiler/target/MachineFile.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  llvm::StringRef text(reinterpret_cast<const char *>(data), size);
  if (auto name = fathom::readMachineName(text, "input"); !name)
    llvm::consumeError(name.takeError());
  fathom::Target target;
  target.triple = "aarch64-linux-gnu";
  target.cpu = "generic";
  if (llvm::Error error = fathom::applyMachineFile(text, "input", target)) {
    llvm::consumeError(std::move(error));
    return 0;
  }
  std::string printed = fathom::printMachineFile(target);
  fathom::Target again;
  again.triple = target.triple;
  again.cpu = target.cpu;
  if (llvm::Error error = fathom::applyMachineFile(printed, "printed", again))
    fathom::fuzz::fail("a printed description is refused: " + llvm::toString(std::move(error)));
  if (fathom::printMachineFile(again) != printed)
    fathom::fuzz::fail("a printed description reads back as another");
  return 0;
}
