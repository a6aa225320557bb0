// Any bytes as one of NumPy's files.
#include "Target.h"

#include "tools/fathom/run/Npy.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fathom::fuzz::MemoryFile file(data, size);
  auto array = fathom::readNpy(file.path());
  if (!array)
    llvm::consumeError(array.takeError());
  else if (array->bytes > size)
    fathom::fuzz::fail("more elements than the file holds");
  return 0;
}
