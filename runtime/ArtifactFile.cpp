// Checks an artifact's ELF headers, then has the system's loader map it.
#include "ArtifactFile.h"

#include "Checksum.h"
#include "CpuFeatures.h"
#include "Status.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace fathom;

namespace {

// The file while it is looked at.
class File {
public:
  explicit File(const char *Path) : Fd(open(Path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}
  File(const File &) = delete;
  ~File() {
    if (Fd >= 0)
      close(Fd);
  }

  int descriptor() const { return Fd; }
  bool isOpen() const { return Fd >= 0; }
  bool stat(struct stat &Info) const { return fstat(Fd, &Info) == 0; }
  bool readAt(uint64_t Offset, void *To, size_t Bytes) const {
    return pread(Fd, To, Bytes, off_t(Offset)) == ssize_t(Bytes);
  }

private:
  int Fd;
};

fathom_status *notAnArtifact(const char *Path, const char *Why) {
  return makeStatus(FATHOM_ERROR_FORMAT, "'%s' is not a Fathom artifact: %s", Path, Why);
}

fathom_status *truncated(const char *Path, uint64_t Needed, uint64_t Has) {
  return makeStatus(FATHOM_ERROR_FORMAT, "'%s' is truncated: its headers tell of %llu bytes and it has %llu", Path,
                    static_cast<unsigned long long>(Needed), static_cast<unsigned long long>(Has));
}

// Where a range ends, or the largest number when that overflows.
uint64_t endOf(uint64_t Offset, uint64_t Bytes) {
  uint64_t End;
  return __builtin_add_overflow(Offset, Bytes, &End) ? UINT64_MAX : End;
}

fathom_status *checkHeader(const char *Path, const Elf64_Ehdr &Header) {
  if (memcmp(Header.e_ident, ELFMAG, SELFMAG) != 0)
    return notAnArtifact(Path, "it is not an ELF file");
  if (Header.e_ident[EI_CLASS] != ELFCLASS64 || Header.e_ident[EI_DATA] != ELFDATA2LSB)
    return notAnArtifact(Path, "it is not a 64-bit little-endian ELF file");
  if (Header.e_type != ET_DYN)
    return notAnArtifact(Path, "it is an ELF file but not a shared object");
  if (Header.e_machine != HostMachine) {
    char Number[32];
    const char *Name = machineName(Header.e_machine);
    if (!Name) {
      snprintf(Number, sizeof(Number), "machine number %u", unsigned(Header.e_machine));
      Name = Number;
    }
    return makeStatus(FATHOM_ERROR_UNSUPPORTED_CPU, "'%s' is for %s and this machine is %s", Path, Name,
                      machineName(HostMachine));
  }
  if (Header.e_phentsize != sizeof(Elf64_Phdr) || Header.e_phnum == 0)
    return notAnArtifact(Path, "it has no program headers");
  return nullptr;
}

// Held around the system's loader: whether a name is known must not change before it is used.
pthread_mutex_t LoaderLock = PTHREAD_MUTEX_INITIALIZER;

class Locked {
public:
  Locked() { pthread_mutex_lock(&LoaderLock); }
  ~Locked() { pthread_mutex_unlock(&LoaderLock); }
  Locked(const Locked &) = delete;
  Locked &operator=(const Locked &) = delete;
};

// glibc's dlopen takes a name it has seen for the file it saw then, even when another file has taken the name since (a
// model compiled anew, a file descriptor used again). So a name that is already known is spelled in a way never used
// before: a counter, written in "./" and ".//" ahead of the last component. Glibc then goes by the inode.
void *openFresh(const char *Path) {
  if (void *Known = dlopen(Path, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD))
    dlclose(Known);
  else
    return dlopen(Path, RTLD_NOW | RTLD_LOCAL);

  static uint32_t Counter = 0;
  const char *Last = strrchr(Path, '/') + 1;
  char Spelled[PATH_MAX + 3 * 32]; // Path could be opened, so it is shorter than PATH_MAX
  char *At = static_cast<char *>(mempcpy(Spelled, Path, size_t(Last - Path)));
  for (uint32_t Count = ++Counter; Count; Count >>= 1)
    At = stpcpy(At, Count & 1 ? ".//" : "./");
  strcpy(At, Last);
  return dlopen(Spelled, RTLD_NOW | RTLD_LOCAL);
}

} // namespace

fathom_status *fathom::notSealed(const char *Path) {
  return makeStatus(FATHOM_ERROR_FORMAT, "'%s' is truncated or was changed: it does not end with its checksum", Path);
}

// Compares what the file ends with; with `All`, the checksum of all of it, too.
static fathom_status *checkTrailer(const char *Path, const File &Source, uint64_t Size, bool All, bool &IsSealed) {
  Trailer Found = {}, Right;
  IsSealed =
      Size > sizeof(Found) && Source.readAt(Size - sizeof(Found), &Found, sizeof(Found)) && Found.Magic == TrailerMagic;
  if (!IsSealed)
    return nullptr;
  if (Found.FileBytes != Size)
    return makeStatus(FATHOM_ERROR_FORMAT, "'%s' is damaged: it was written with %llu bytes and has %llu", Path,
                      static_cast<unsigned long long>(Found.FileBytes), static_cast<unsigned long long>(Size));
  if (!makeTrailer(Source.descriptor(), Size - sizeof(Found), All, Right))
    return makeStatus(FATHOM_ERROR_FILE, "cannot read '%s'", Path);
  if (Found.Head != Right.Head)
    return makeStatus(FATHOM_ERROR_FORMAT, "'%s' is damaged: its headers and tables are not those that were written",
                      Path);
  if (All && Found.Content != Right.Content)
    return makeStatus(FATHOM_ERROR_FORMAT,
                      "'%s' is damaged: its checksum is %016llx and was %016llx when it was written", Path,
                      static_cast<unsigned long long>(Right.Content), static_cast<unsigned long long>(Found.Content));
  return nullptr;
}

fathom_status *fathom::checkArtifactFile(const char *Path, bool &IsSealed) {
  File Source(Path);
  struct stat Info;
  if (!Source.isOpen() || !Source.stat(Info))
    return makeStatus(FATHOM_ERROR_FILE, "cannot open '%s': %s", Path, strerror(errno));
  if (!S_ISREG(Info.st_mode))
    return makeStatus(FATHOM_ERROR_FILE, "'%s' is not a regular file", Path);
  uint64_t Size = uint64_t(Info.st_size);

  if (!Size)
    return notAnArtifact(Path, "it is empty");
  Elf64_Ehdr Header = {};
  if (!Source.readAt(0, &Header, std::min<uint64_t>(Size, sizeof(Header))))
    return makeStatus(FATHOM_ERROR_FILE, "cannot read '%s': %s", Path, strerror(errno));
  if (Size < sizeof(Header))
    return memcmp(Header.e_ident, ELFMAG, SELFMAG) ? notAnArtifact(Path, "it is not an ELF file")
                                                   : truncated(Path, sizeof(Header), Size);
  if (fathom_status *Status = checkHeader(Path, Header))
    return Status;

  // Reading a mapped page behind the end of the file raises SIGBUS, so all that the headers speak of must be there. The
  // section headers are not needed to load, but come last and so tell most surely of a file cut short.
  uint64_t Needed = std::max(endOf(Header.e_phoff, uint64_t(Header.e_phnum) * sizeof(Elf64_Phdr)),
                             endOf(Header.e_shoff, uint64_t(Header.e_shnum) * Header.e_shentsize));
  if (Needed > Size)
    return truncated(Path, Needed, Size);
  for (unsigned I = 0; I < Header.e_phnum; ++I) {
    Elf64_Phdr Segment;
    if (!Source.readAt(Header.e_phoff + I * sizeof(Segment), &Segment, sizeof(Segment)))
      return makeStatus(FATHOM_ERROR_FILE, "cannot read '%s': %s", Path, strerror(errno));
    if (Segment.p_type == PT_LOAD || Segment.p_type == PT_DYNAMIC)
      Needed = std::max(Needed, endOf(Segment.p_offset, Segment.p_filesz));
  }
  return Needed > Size ? truncated(Path, Needed, Size) : checkTrailer(Path, Source, Size, /*All=*/false, IsSealed);
}

fathom_status *fathom_artifact_check(const char *path) {
  if (!path)
    return makeStatus(FATHOM_ERROR_INVALID_ARGUMENT, "fathom_artifact_check: path is null");
  File Source(path);
  struct stat Info;
  if (!Source.isOpen() || !Source.stat(Info))
    return makeStatus(FATHOM_ERROR_FILE, "cannot open '%s': %s", path, strerror(errno));
  if (!Info.st_size)
    return notAnArtifact(path, "it is empty");
  bool IsSealed;
  fathom_status *Status = checkTrailer(path, Source, uint64_t(Info.st_size), /*All=*/true, IsSealed);
  return Status || IsSealed ? Status : notSealed(path);
}

fathom_status *fathom::openArtifact(const char *Path, void **Handle, const fathom_artifact **Artifact) {
  // A name without a slash would be looked for among the system's libraries.
  char InFolder[PATH_MAX];
  bool Bare = !strchr(Path, '/');
  if (Bare && snprintf(InFolder, sizeof(InFolder), "./%s", Path) >= int(sizeof(InFolder)))
    return makeStatus(FATHOM_ERROR_FILE, "cannot open '%s': %s", Path, strerror(ENAMETOOLONG));

  Locked Lock;
  void *Library = openFresh(Bare ? InFolder : Path);
  if (!Library) {
    const char *Why = dlerror();
    return makeStatus(FATHOM_ERROR_FORMAT, "'%s' cannot be loaded: %s", Path, Why ? Why : "no reason given");
  }
  auto *Table = static_cast<const fathom_artifact *>(dlsym(Library, FATHOM_ARTIFACT_SYMBOL));
  fathom_status *Status = nullptr;
  if (!Table)
    Status = notAnArtifact(Path, "it does not export '" FATHOM_ARTIFACT_SYMBOL "'");
  else if (Table->magic != FATHOM_ABI_MAGIC)
    Status = notAnArtifact(Path, "its table does not start with the magic number");
  else if (Table->abi_version < FATHOM_ABI_OLDEST || Table->abi_version > FATHOM_ABI_VERSION)
    Status =
        makeStatus(FATHOM_ERROR_FORMAT,
                   "'%s' has artifact version %u and this runtime reads versions %u to %u: compile the model again "
                   "with the Fathom that this runtime belongs to",
                   Path, Table->abi_version, unsigned(FATHOM_ABI_OLDEST), unsigned(FATHOM_ABI_VERSION));
  if (Status) {
    dlclose(Library);
    return Status;
  }
  *Handle = Library;
  *Artifact = Table;
  return nullptr;
}

void fathom::closeArtifact(void *Handle) {
  Locked Lock;
  dlclose(Handle);
}
