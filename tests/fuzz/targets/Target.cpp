// What the fuzz targets share.
#include "Target.h"

#include "llvm/Support/raw_ostream.h"
#include <cstdio>
#include <cstdlib>
#include <sys/mman.h>
#include <unistd.h>

namespace fathom::fuzz {

void fail(const llvm::Twine &why) {
  llvm::errs() << "fuzz target: " << why << "\n";
  abort();
}

MemoryFile::MemoryFile(const uint8_t *data, size_t size) : descriptor(memfd_create("fuzz", MFD_CLOEXEC)) {
  snprintf(name, sizeof(name), "/proc/self/fd/%d", descriptor);
  for (size_t done = 0; done < size;) {
    ssize_t written = write(descriptor, data + done, size - done);
    if (written <= 0)
      fail("no memory for the input");
    done += size_t(written);
  }
}

MemoryFile::~MemoryFile() { close(descriptor); }

} // namespace fathom::fuzz
