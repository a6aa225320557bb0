// sysconf knows the caches of x86-64 only; the kernel's files have them on AArch64 as well.
#include "compiler/target/HostCaches.h"

#include "llvm/Support/MemoryBuffer.h"
#include <map>

namespace fathom {

static std::string readLine(const llvm::Twine &path) {
  // Such files have no size until they are read.
  auto file = llvm::MemoryBuffer::getFileAsStream(path);
  return file ? (*file)->getBuffer().trim().str() : "";
}

// "64K", "32M"; 0 for anything else.
static int64_t parseSize(llvm::StringRef text) {
  int64_t unit = text.consume_back("K") ? 1 << 10 : text.consume_back("M") ? 1 << 20 : 1, number = 0;
  return text.getAsInteger(10, number) || number < 0 || number > (INT64_MAX >> 20) ? 0 : number * unit;
}

std::vector<int64_t> hostCacheBytes(llvm::StringRef folder) {
  std::map<int, int64_t> levels;
  for (int index = 0; index < 8; ++index) {
    std::string path = (folder + "/index" + llvm::Twine(index)).str();
    int level = 0;
    if (llvm::StringRef(readLine(path + "/level")).getAsInteger(10, level) || readLine(path + "/type") == "Instruction")
      continue;
    if (int64_t bytes = parseSize(readLine(path + "/size")))
      levels[level] = bytes;
  }
  std::vector<int64_t> sizes;
  for (auto [level, bytes] : levels) {
    if (level != int(sizes.size()) + 1)
      break;
    sizes.push_back(bytes);
  }
  return sizes;
}

} // namespace fathom
