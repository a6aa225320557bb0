// Read-only mappings of files, opened so that a name inside a model cannot lead outside the model's folder.
#include "compiler/import/read/MappedFile.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/SmallVector.h"
#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#if __has_include(<linux/openat2.h>)
#include <linux/openat2.h>
#endif

using namespace llvm;

namespace fathom::importer {

static Error problem(const Twine &message) {
  return createStringError(std::make_error_code(std::errc::io_error), message);
}

static Error openProblem(int code) {
  if (code == ELOOP || code == EXDEV || code == ENOTDIR)
    return problem("leads through a symbolic link, out of the folder or through something that is no folder");
  return problem(std::generic_category().message(code));
}

// Opening a FIFO or a device must not block: what kind of file it is can only be asked once it is open.
static constexpr int readFlags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;

Expected<std::shared_ptr<MappedFile>> MappedFile::open(StringRef path) {
  int fd = ::open(path.str().c_str(), readFlags);
  if (fd < 0)
    return problem(std::generic_category().message(errno));
  return map(fd, /*soleLink=*/false);
}

Expected<std::shared_ptr<MappedFile>> MappedFile::map(int fd, bool soleLink) {
  scope_exit close([&] { ::close(fd); });
  struct stat status;
  if (fstat(fd, &status) != 0)
    return problem(std::generic_category().message(errno));
  if (!S_ISREG(status.st_mode))
    return problem("is not a regular file");
  // A second name may lie outside the folder: then this one would lend the file's content to whoever wrote the model.
  if (soleLink && status.st_nlink != 1)
    return problem("has more than one hard link");
  auto file = std::make_shared<MappedFile>();
  if (status.st_size == 0)
    return file;
  std::error_code code;
  file->region = sys::fs::mapped_file_region(sys::fs::convertFDToNativeFile(fd), sys::fs::mapped_file_region::readonly,
                                             status.st_size, 0, code);
  if (code)
    return problem(code.message());
  return file;
}

static Expected<int> openByComponents(int folder, ArrayRef<StringRef> components) {
  int current = folder;
  scope_exit close([&] {
    if (current != folder)
      ::close(current);
  });
  for (StringRef component : components.drop_back()) {
    int next = openat(current, component.str().c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (next < 0)
      return openProblem(errno);
    if (current != folder)
      ::close(current);
    current = next;
  }
  int fd = openat(current, components.back().str().c_str(), readFlags | O_NOFOLLOW);
  if (fd < 0)
    return openProblem(errno);
  return fd;
}

Expected<int> openBeneath(int folder, StringRef name, OpenWith how) {
  if (name.contains('\0'))
    return problem("contains a null character");
  if (name.starts_with("/"))
    return problem("is an absolute path");
  SmallVector<StringRef> components;
  name.split(components, '/', -1, /*KeepEmpty=*/false);
  erase(components, ".");
  if (components.empty())
    return problem("names no file");
  if (is_contained(components, ".."))
    return problem("leaves the model's folder");
#ifdef SYS_openat2
  if (how == OpenWith::Openat2) {
    struct open_how request = {};
    request.flags = readFlags | O_NOFOLLOW;
    request.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
    int fd = -1;
    // EAGAIN says that something was renamed meanwhile and that the kernel could not be sure.
    for (int attempt = 0; attempt < 8; ++attempt) {
      fd = syscall(SYS_openat2, folder, name.str().c_str(), &request, sizeof(request));
      if (fd >= 0 || errno != EAGAIN)
        break;
    }
    if (fd >= 0)
      return fd;
    // Old kernels lack the call, and sandboxes of that time answer EPERM.
    if (errno != ENOSYS && errno != EPERM)
      return openProblem(errno);
  }
#endif
  return openByComponents(folder, components);
}

} // namespace fathom::importer
