// Output files: where a path leads, a temporary file beside that place, and its renaming.
#include "compiler/package/OutputFile.h"

#include "compiler/support/Cancellation.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <atomic>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace llvm;

namespace fathom {

void (*onTemporaryFile)(StringRef path, bool exists) = [](StringRef, bool) {};

static Error cannotWrite(StringRef path, const Twine &why) {
  return createStringError("cannot write '" + path + "': " + why);
}

static std::string reason() { return std::generic_category().message(errno); }

namespace {
struct Place {
  std::string path; // the last link followed
  bool inPlace;     // a device or a pipe, or a file without a name
};
} // namespace

// Follows links to a file that need not exist yet.
static std::string followLinks(StringRef path) {
  SmallString<256> current(path);
  for (int depth = 0; depth < 40; ++depth) {
    char to[4096];
    ssize_t length = readlink(current.c_str(), to, sizeof to);
    if (length <= 0 || length == sizeof to)
      break;
    StringRef next(to, length);
    if (sys::path::is_absolute(next)) {
      current = next;
      continue;
    }
    sys::path::remove_filename(current);
    sys::path::append(current, next);
  }
  return std::string(current);
}

static Expected<Place> findPlace(StringRef path, bool special) {
  struct stat found, real;
  if (stat(path.str().c_str(), &found))
    return Place{followLinks(path), /*inPlace=*/false};
  if (S_ISDIR(found.st_mode))
    return cannotWrite(path, "it is a folder");
  if (!S_ISREG(found.st_mode)) {
    if (special)
      return Place{path.str(), /*inPlace=*/true};
    return cannotWrite(path, "it is a device, a pipe or a socket, and an artifact must be a regular file");
  }
  // A descriptor of this process may lead to a file that no folder has.
  SmallString<256> resolved;
  bool named = !sys::fs::real_path(path, resolved) && !stat(resolved.c_str(), &real) && real.st_dev == found.st_dev &&
               real.st_ino == found.st_ino;
  return named ? Place{std::string(resolved), /*inPlace=*/false} : Place{path.str(), /*inPlace=*/true};
}

Expected<OutputFile> OutputFile::create(StringRef path, unsigned mode, bool special) {
  Expected<Place> place = findPlace(path, special);
  if (!place)
    return place.takeError();
  OutputFile file;
  file.given = path.str(), file.target = place->path;
  if (place->inPlace) {
    file.fd = open(file.target.c_str(), (special ? O_WRONLY : O_RDWR) | O_TRUNC | O_CLOEXEC);
    if (file.fd < 0)
      return cannotWrite(path, reason());
    return file;
  }
  static std::atomic<unsigned> count = 0;
  do {
    SmallString<256> name(sys::path::parent_path(file.target));
    sys::path::append(name, "fathom-" + Twine(getpid()) + "-" + Twine(count++) + ".tmp");
    file.temporary = std::string(name);
    file.fd = open(file.temporary.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  } while (file.fd < 0 && errno == EEXIST);
  if (file.fd < 0) {
    file.temporary.clear();
    return cannotWrite(path, reason());
  }
  onTemporaryFile(file.temporary, true);
  return file;
}

OutputFile::OutputFile(OutputFile &&other)
    : fd(std::exchange(other.fd, -1)), given(std::move(other.given)), target(std::move(other.target)),
      temporary(std::exchange(other.temporary, "")) {}

OutputFile::~OutputFile() {
  if (fd >= 0)
    close(fd);
  if (temporary.empty())
    return;
  unlink(temporary.c_str());
  onTemporaryFile(temporary, false);
}

Error OutputFile::keep() {
  // Some file systems report a full disk only here.
  if (close(std::exchange(fd, -1)))
    return cannotWrite(given, reason());
  if (temporary.empty())
    return Error::success();
  if (Cancellation *cancellation = Cancellation::current(); cancellation && !cancellation->commit())
    return cannotWrite(given, "the compilation was cancelled");
  if (rename(temporary.c_str(), target.c_str()))
    return cannotWrite(given, reason());
  onTemporaryFile(std::exchange(temporary, ""), false);
  return Error::success();
}

Error checkOutput(mlir::ModuleOp module, StringRef path, bool special) {
  SmallVector<StringRef> sources;
  if (auto files = module->getAttrOfType<mlir::ArrayAttr>("graph.files"))
    append_range(sources, files.getAsValueRange<mlir::StringAttr>());
  return checkOutput(sources, path, special);
}

Error checkOutput(ArrayRef<StringRef> sources, StringRef path, bool special) {
  Expected<Place> place = findPlace(path, special);
  if (!place)
    return place.takeError();
  for (StringRef source : sources)
    if (bool same = false; !sys::fs::equivalent(source, path, same) && same)
      return cannotWrite(path, "the model is read from it");
  StringRef folder = sys::path::parent_path(place->path);
  if (!place->inPlace && access(folder.empty() ? "." : folder.str().c_str(), W_OK | X_OK))
    return cannotWrite(path, reason());
  return Error::success();
}

Error writeFile(StringRef path, function_ref<void(raw_ostream &out)> print) {
  Expected<OutputFile> file = OutputFile::create(path, 0666, /*special=*/true);
  if (!file)
    return file.takeError();
  raw_fd_ostream out(file->descriptor(), /*shouldClose=*/false);
  print(out);
  out.flush();
  if (std::error_code code = out.error()) {
    out.clear_error();
    return cannotWrite(path, code.message());
  }
  return file->keep();
}

} // namespace fathom
