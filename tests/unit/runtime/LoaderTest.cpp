// Tests of loading: every file that is no sound artifact gives an error that says why, and a name never brings back an
// older file.
#include "TestSupport.h"
#include "abi.h"

#include <cstring>
#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace fathom::test;

namespace {

void expectLoadError(const std::string &Path, fathom_code Code, const std::string &Text) {
  auto *Model = reinterpret_cast<fathom_model *>(1);
  expectError(fathom_model_load(Path.c_str(), &Model), Code, Text);
  EXPECT_EQ(Model, nullptr);
}

std::string manifestOf(const std::string &Path, ModelPtr &Model) {
  fathom_model *Loaded = nullptr;
  expectOk(fathom_model_load(Path.c_str(), &Loaded));
  Model.reset(Loaded);
  return fathom_model_manifest(Loaded);
}

} // namespace

TEST(Loader, RefusesNullArguments) {
  fathom_model *Model = nullptr;
  expectError(fathom_model_load(nullptr, &Model), FATHOM_ERROR_INVALID_ARGUMENT, "path is null");
  expectError(fathom_model_load("x", nullptr), FATHOM_ERROR_INVALID_ARGUMENT, "model is null");
}

TEST(Loader, RefusesWhatIsNoFile) {
  TemporaryFolder Folder;
  expectLoadError(Folder / "missing", FATHOM_ERROR_FILE, "No such file");
  expectLoadError("", FATHOM_ERROR_FILE, "cannot open ''");
  expectLoadError(Folder / ".", FATHOM_ERROR_FILE, "is not a regular file");
  expectLoadError("/dev/null", FATHOM_ERROR_FILE, "is not a regular file");
  ASSERT_EQ(mkfifo((Folder / "pipe").c_str(), 0600), 0);
  expectLoadError(Folder / "pipe", FATHOM_ERROR_FILE, "is not a regular file");
}

TEST(Loader, RefusesWhatIsNoElfFile) {
  TemporaryFolder Folder;
  for (const std::string &Text : {std::string("x"), std::string("hello, world\n"), std::string(4096, 'x')}) {
    writeFile(Folder / "text", Text);
    expectLoadError(Folder / "text", FATHOM_ERROR_FORMAT, "is not a Fathom artifact: it is not an ELF file");
  }
}

TEST(Loader, SaysThatAFileIsEmpty) {
  TemporaryFolder Folder;
  writeFile(Folder / "nothing", "");
  expectLoadError(Folder / "nothing", FATHOM_ERROR_FORMAT, "it is empty");
}

TEST(Loader, RefusesOtherElfFiles) {
  expectLoadError("/proc/self/exe", FATHOM_ERROR_FORMAT, "");
  TemporaryFolder Folder;
  std::string Bytes = readFile(artifact("copy"));
  auto *Header = reinterpret_cast<Elf64_Ehdr *>(Bytes.data());
  const Elf64_Ehdr Good = *Header;
  auto Expect = [&](fathom_code Code, const char *Text) {
    writeFile(Folder / "patched", Bytes);
    expectLoadError(Folder / "patched", Code, Text);
    *Header = Good;
  };
  Header->e_ident[EI_CLASS] = ELFCLASS32;
  Expect(FATHOM_ERROR_FORMAT, "not a 64-bit little-endian");
  Header->e_ident[EI_DATA] = ELFDATA2MSB;
  Expect(FATHOM_ERROR_FORMAT, "not a 64-bit little-endian");
  Header->e_type = ET_REL;
  Expect(FATHOM_ERROR_FORMAT, "not a shared object");
  Header->e_phnum = 0;
  Expect(FATHOM_ERROR_FORMAT, "no program headers");
  Header->e_phoff = UINT64_MAX - 8;
  Expect(FATHOM_ERROR_FORMAT, "is truncated");
}

TEST(Loader, RefusesOtherMachines) {
  TemporaryFolder Folder;
  std::string Bytes = readFile(artifact("copy"));
  auto *Header = reinterpret_cast<Elf64_Ehdr *>(Bytes.data());
  bool IsArm = Header->e_machine == EM_AARCH64;
  Header->e_machine = IsArm ? EM_X86_64 : EM_AARCH64;
  writeFile(Folder / "other", Bytes);
  expectLoadError(Folder / "other", FATHOM_ERROR_UNSUPPORTED_CPU,
                  IsArm ? "is for x86-64 and this machine is aarch64" : "is for aarch64 and this machine is x86-64");
  Header->e_machine = 9999;
  writeFile(Folder / "strange", Bytes);
  expectLoadError(Folder / "strange", FATHOM_ERROR_UNSUPPORTED_CPU, "is for machine number 9999");
}

TEST(Loader, RefusesTruncatedFiles) {
  TemporaryFolder Folder;
  std::string Bytes = readFile(artifact("scale_add"));
  for (size_t Length = 4; Length < Bytes.size(); Length += Length < 1024 ? 61 : 997) {
    writeFile(Folder / "cut", Bytes.substr(0, Length));
    expectLoadError(Folder / "cut", FATHOM_ERROR_FORMAT, "is truncated");
  }
  writeFile(Folder / "cut", Bytes.substr(0, Bytes.size() - 1));
  expectLoadError(Folder / "cut", FATHOM_ERROR_FORMAT, "is truncated");
}

// Stripped of its section headers a file can lose its end in the midst of a segment.
TEST(Loader, RefusesTruncatedSegments) {
  TemporaryFolder Folder;
  std::string Bytes = readFile(artifact("scale_add"));
  auto *Header = reinterpret_cast<Elf64_Ehdr *>(Bytes.data());
  Header->e_shoff = Header->e_shnum = Header->e_shstrndx = 0;
  auto *Segments = reinterpret_cast<Elf64_Phdr *>(Bytes.data() + Header->e_phoff);
  for (unsigned I = 0; I < Header->e_phnum; ++I) {
    if (Segments[I].p_type != PT_LOAD || !Segments[I].p_filesz)
      continue;
    writeFile(Folder / "cut", Bytes.substr(0, Segments[I].p_offset + Segments[I].p_filesz - 1));
    expectLoadError(Folder / "cut", FATHOM_ERROR_FORMAT, "is truncated");
  }
}

TEST(Loader, RefusesWrongTables) {
  expectLoadError(artifact("no_table"), FATHOM_ERROR_FORMAT, "does not export 'fathom_artifact'");
  expectLoadError(artifact("bad_magic"), FATHOM_ERROR_FORMAT, "magic number");
  expectLoadError(artifact("bad_version"), FATHOM_ERROR_FORMAT,
                  "has artifact version 99 and this runtime reads versions " + std::to_string(FATHOM_ABI_OLDEST) +
                      " to " + std::to_string(FATHOM_ABI_VERSION));
  expectLoadError(artifact("complex_input"), FATHOM_ERROR_FORMAT, "has data type 14 for input 'x'");
  expectLoadError(artifact("unbound_symbol"), FATHOM_ERROR_FORMAT, "symbol 'n' is no input's dimension");
  expectLoadError(artifact("bad_dimension"), FATHOM_ERROR_FORMAT, "input 'x' dimension 0 is -9");
  expectLoadError(artifact("no_weights"), FATHOM_ERROR_FORMAT, "its weights are missing");
  expectLoadError(artifact("negative_scratch"), FATHOM_ERROR_FORMAT, "a size is negative");
  expectLoadError(artifact("bad_alias"), FATHOM_ERROR_FORMAT, "the memory of an input that is not there");
  expectLoadError(artifact("no_list"), FATHOM_ERROR_FORMAT, "a list is missing");
}

TEST(Loader, RefusesMemoryThatIsNotThere) {
  const char *Only = ", and this runtime has one of the spaces 0 to 2 for all of a model";
  expectLoadError(artifact("other_input_space"), FATHOM_ERROR_FORMAT,
                  std::string("needs input 'x' in memory space 1") + Only);
  expectLoadError(artifact("other_arena_space"), FATHOM_ERROR_FORMAT,
                  std::string("needs its arena in memory space 9") + Only);
  expectLoadError(artifact("other_weights_space"), FATHOM_ERROR_FORMAT,
                  std::string("needs its weights in memory space 3") + Only);
}

TEST(Loader, RefusesMissingCpuFeatures) {
  expectLoadError(artifact("unknown_feature"), FATHOM_ERROR_UNSUPPORTED_CPU,
                  "needs CPU features that this machine lacks: no-such-feature (unknown to this runtime), another-one");
}

TEST(Loader, LoadsByFileDescriptorAndBareName) {
  int Fd = open(artifact("copy").c_str(), O_RDONLY);
  ModelPtr Model;
  EXPECT_EQ(manifestOf("/proc/self/fd/" + std::to_string(Fd), Model), "copy");
  close(Fd);
  TemporaryFolder Folder;
  writeFile(Folder / "bare", readFile(artifact("other_copy")));
  char *Before = getcwd(nullptr, 0);
  ASSERT_EQ(chdir((Folder / "").c_str()), 0);
  EXPECT_EQ(manifestOf("bare", Model), "other");
  ASSERT_EQ(chdir(Before), 0);
  free(Before);
}

TEST(Loader, LoadsTheSameFileTwice) {
  ModelPtr First, Second;
  EXPECT_EQ(manifestOf(artifact("copy"), First), "copy");
  EXPECT_EQ(manifestOf(artifact("copy"), Second), "copy");
  First.reset();
  EXPECT_STREQ(fathom_model_manifest(Second.get()), "copy");
}

// The system's loader goes by names it has seen; a model compiled anew under the same name must not be the old one.
TEST(Loader, LoadsTheNewFileOfAName) {
  TemporaryFolder Folder;
  ModelPtr Models[6];
  for (int I = 0; I < 6; ++I) {
    writeFile(Folder / "new", readFile(artifact(I % 2 ? "other_copy" : "copy")));
    ASSERT_EQ(rename((Folder / "new").c_str(), (Folder / "model").c_str()), 0);
    EXPECT_EQ(manifestOf(Folder / "model", Models[I]), I % 2 ? "other" : "copy");
  }
}

TEST(Loader, LoadsTheNewFileOfADescriptor) {
  ModelPtr Models[4];
  int Number = -1;
  for (int I = 0; I < 4; ++I) {
    int Fd = open(artifact(I % 2 ? "other_copy" : "copy").c_str(), O_RDONLY);
    ASSERT_TRUE(Number == -1 || Fd == Number);
    Number = Fd;
    EXPECT_EQ(manifestOf("/proc/self/fd/" + std::to_string(Fd), Models[I]), I % 2 ? "other" : "copy");
    close(Fd);
  }
}
