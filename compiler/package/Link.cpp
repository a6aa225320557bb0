// Linking in process and streaming the weights to the file's tail.
#include "compiler/package/Artifact.h"
#include "compiler/package/OutputFile.h"
#include "compiler/package/Weights.h"
#include "compiler/support/Cancellation.h"
#include "runtime/Checksum.h"

#include "lld/Common/Driver.h"
#include "llvm/Support/CrashRecoveryContext.h"
#include <csignal>
#include <elf.h>
#include <fcntl.h>
#include <mutex>
#include <sys/mman.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

LLD_HAS_DRIVER(elf)

namespace fathom {
namespace {

constexpr int64_t pageSize = 65536; // the largest page size of both architectures

// The weights' segment comes last, so that it can grow behind the code.
constexpr char linkerScript[] = R"(
PHDRS { ro PT_LOAD FLAGS(4) FILEHDR PHDRS; text PT_LOAD FLAGS(5); rw PT_LOAD FLAGS(6); weights PT_LOAD FLAGS(4);
        dyn PT_DYNAMIC FLAGS(6); relro PT_GNU_RELRO FLAGS(4); stack PT_GNU_STACK FLAGS(6); }
SECTIONS {
  . = SIZEOF_HEADERS;
  .fathom.manifest : { KEEP(*(.fathom.manifest)) } :ro
  .dynsym : { *(.dynsym) } :ro
  .gnu.hash : { *(.gnu.hash) } :ro
  .dynstr : { *(.dynstr) } :ro
  .rela.dyn : { *(.rela.dyn) } :ro
  .rodata : { *(.rodata .rodata.*) } :ro
  .eh_frame : { *(.eh_frame) } :ro
  . = ALIGN(0x10000);
  .text : { *(.text .text.*) } :text
  . = ALIGN(0x10000);
  .data.rel.ro : { *(.data.rel.ro .data.rel.ro.*) } :rw :relro
  .dynamic : { *(.dynamic) } :rw :relro :dyn
  .got : { *(.got) } :rw :relro
  . = ALIGN(0x10000);
  .data : { *(.data .data.*) } :rw
  .bss : { *(.bss .bss.*) *(COMMON) } :rw
  . = ALIGN(0x10000);
  .weights : { fathom_weights = .; QUAD(0) } :weights
}
)";

// The script, where objects with these prefixes call the base of the weights by other names, too.
std::string scriptFor(llvm::ArrayRef<std::string> prefixes) {
  std::string script(linkerScript, sizeof(linkerScript) - 1);
  for (const std::string &prefix : prefixes)
    script += "\"" + prefix + "fathom_weights\" = fathom_weights;\n";
  return script;
}

class Descriptor {
public:
  explicit Descriptor(int fd) : fd(fd) {}
  Descriptor(const Descriptor &) = delete;
  Descriptor(Descriptor &&other) : fd(std::exchange(other.fd, -1)) {}
  ~Descriptor() {
    if (fd >= 0)
      close(fd);
  }
  int fd;
};

llvm::Error systemError(const char *what) {
  return llvm::createStringError(std::error_code(errno, std::generic_category()), "%s: %s", what, strerror(errno));
}

llvm::Error writeAll(int fd, const char *bytes, size_t count, int64_t offset) {
  while (count) {
    ssize_t written = pwrite(fd, bytes, count, offset);
    if (written < 0 && errno == EINTR)
      continue;
    if (written <= 0)
      return systemError("cannot write the artifact");
    bytes += written, offset += written, count -= written;
  }
  return llvm::Error::success();
}

llvm::Expected<Descriptor> inMemory(const char *bytes, size_t count) {
  Descriptor file(memfd_create("fathom", MFD_CLOEXEC));
  if (file.fd < 0)
    return systemError("memfd_create");
  if (llvm::Error error = writeAll(file.fd, bytes, count, 0))
    return std::move(error);
  return std::move(file);
}

std::string pathOf(const Descriptor &file) { return "/proc/self/fd/" + std::to_string(file.fd); }

// Where the linker writes to. It would replace a regular file, and register the new one for removal on signals, which
// are the program's business and not a library's. To a pipe it writes as it is.
class LinkerOutput {
public:
  LinkerOutput(std::string &bytes) {
    int ends[2] = {-1, -1};
    if (pipe2(ends, O_CLOEXEC))
      return;
    writeEnd.fd = ends[1];
    reader = std::thread([&bytes, end = ends[0]] {
      Descriptor from(end);
      std::vector<char> piece(1 << 16);
      while (ssize_t count = read(from.fd, piece.data(), piece.size())) {
        if (count < 0 && errno != EINTR)
          return;
        bytes.append(piece.data(), std::max<ssize_t>(count, 0));
      }
    });
  }
  ~LinkerOutput() { finish(); }

  bool isOpen() const { return writeEnd.fd >= 0; }
  std::string path() const { return pathOf(writeEnd); }
  // Waits until all has been read.
  void finish() {
    if (writeEnd.fd >= 0)
      close(std::exchange(writeEnd.fd, -1));
    if (reader.joinable())
      reader.join();
  }

private:
  Descriptor writeEnd{-1};
  std::thread reader;
};

// Lets the linker leave from the middle of its work without ending the process. LLVM handles crashes by the same means,
// but a library must leave the handlers of the program that uses it alone.
void enableLinkerRecovery() {
  static std::once_flag once;
  std::call_once(once, [] {
    const int crashes[] = {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGTRAP};
    struct sigaction before[std::size(crashes)];
    for (auto [number, action] : llvm::zip(crashes, before))
      sigaction(number, nullptr, &action);
    llvm::CrashRecoveryContext::Enable();
    for (auto [number, action] : llvm::zip(crashes, before))
      sigaction(number, &action, nullptr);
  });
}

} // namespace

std::string variantPrefix(const ArtifactInfo &info, size_t variant) {
  return variant ? info.variants[variant] + "." : "";
}

llvm::Expected<std::string> linkObjects(llvm::ArrayRef<Object> objects, const Target &target,
                                        llvm::ArrayRef<std::string> prefixes) {
  std::string linked;
  LinkerOutput output(linked);
  if (!output.isOpen())
    return systemError("cannot create a pipe");
  std::vector<Descriptor> files;
  std::vector<std::string> arguments{"ld.lld",
                                     "-m",
                                     target.isAArch64() ? "aarch64linux" : "elf_x86_64",
                                     "-shared",
                                     "-nostdlib",
                                     "-z",
                                     "defs",
                                     "-z",
                                     "now",
                                     "-z",
                                     "max-page-size=65536",
                                     "--hash-style=gnu",
                                     "--build-id=none",
                                     "-soname",
                                     "model.fathom",
                                     "--threads=1",
                                     "-o",
                                     output.path()};
  std::string text = scriptFor(prefixes);
  auto script = inMemory(text.data(), text.size());
  if (!script)
    return script.takeError();
  arguments.insert(arguments.end(), {"-T", pathOf(*script)});
  for (const Object &object : objects) {
    auto file = inMemory(object.data(), object.size());
    if (!file)
      return file.takeError();
    arguments.push_back(pathOf(*file));
    files.push_back(std::move(*file));
  }
  std::vector<const char *> pointers;
  for (const std::string &argument : arguments)
    pointers.push_back(argument.c_str());
  // The linker keeps global state: one link at a time.
  static std::mutex mutex;
  std::lock_guard<std::mutex> lock(mutex);
  enableLinkerRecovery();
  std::string errors;
  llvm::raw_string_ostream err(errors);
  lld::Result result = lld::lldMain(pointers, llvm::nulls(), err, {{lld::Gnu, &lld::elf::link}});
  if (result.retCode)
    return llvm::createStringError("linking failed: %s", errors.c_str());
  output.finish();
  return std::move(linked);
}

namespace {

// Points the last segment at the file's tail and writes the weights there, one at a time.
llvm::Error appendWeights(int fd, llvm::ArrayRef<Weight> weights, int64_t bytes) {
  Elf64_Ehdr header;
  struct stat status;
  if (pread(fd, &header, sizeof header, 0) != sizeof header || fstat(fd, &status))
    return systemError("cannot read the linked artifact");
  std::vector<Elf64_Phdr> segments(header.e_phnum);
  std::vector<Elf64_Shdr> sections(header.e_shnum);
  if (pread(fd, segments.data(), segments.size() * sizeof(Elf64_Phdr), header.e_phoff) < 0 ||
      pread(fd, sections.data(), sections.size() * sizeof(Elf64_Shdr), header.e_shoff) < 0)
    return systemError("cannot read the linked artifact");
  Elf64_Phdr *last = nullptr;
  for (Elf64_Phdr &segment : segments)
    if (segment.p_type == PT_LOAD)
      last = &segment;
  int64_t offset = llvm::alignTo(status.st_size, pageSize);
  for (Elf64_Shdr &section : sections)
    if ((section.sh_flags & SHF_ALLOC) && section.sh_addr == last->p_vaddr) {
      section.sh_offset = offset;
      section.sh_size = bytes;
    }
  last->p_offset = offset;
  last->p_filesz = last->p_memsz = bytes;
  if (llvm::Error error =
          writeAll(fd, (const char *)segments.data(), segments.size() * sizeof(Elf64_Phdr), header.e_phoff))
    return error;
  if (llvm::Error error =
          writeAll(fd, (const char *)sections.data(), sections.size() * sizeof(Elf64_Shdr), header.e_shoff))
    return error;
  if (ftruncate(fd, offset + bytes))
    return systemError("cannot grow the artifact");
  for (const Weight &weight : weights) {
    if (isCancelled())
      return llvm::createStringError("the compilation was cancelled");
    if (weight.offset >= bytes)
      continue;
    auto write = [&](llvm::ArrayRef<char> piece, int64_t before) {
      return writeAll(fd, piece.data(), piece.size(), offset + weight.offset + before);
    };
    if (llvm::Error error = writeWeight(weight, write))
      return error;
  }
  return llvm::Error::success();
}

// The file's size and checksums, by which a cut or changed one is known.
llvm::Error appendTrailer(int fd) {
  struct stat status;
  Trailer trailer;
  if (fstat(fd, &status) || !makeTrailer(fd, status.st_size, /*WithContent=*/true, trailer))
    return systemError("cannot read the artifact");
  return writeAll(fd, reinterpret_cast<const char *>(&trailer), sizeof trailer, status.st_size);
}

} // namespace

llvm::Error writeArtifact(llvm::ArrayRef<Object> objects, llvm::ArrayRef<Weight> weights, int64_t weightBytes,
                          const Target &target, const ArtifactInfo &info, llvm::StringRef path) {
  std::vector<std::string> prefixes;
  for (size_t variant = 1; variant < info.variants.size(); ++variant)
    prefixes.push_back(variantPrefix(info, variant));
  auto linked = linkObjects(objects, target, prefixes);
  if (!linked)
    return linked.takeError();
  auto file = OutputFile::create(path, 0755, /*special=*/false);
  if (!file)
    return file.takeError();
  if (llvm::Error error = writeAll(file->descriptor(), linked->data(), linked->size(), 0))
    return error;
  if (weightBytes)
    if (llvm::Error error = appendWeights(file->descriptor(), weights, weightBytes))
      return error;
  if (llvm::Error error = appendTrailer(file->descriptor()))
    return error;
  return file->keep();
}

} // namespace fathom
