// Tests of the checksum against its published values, however the bytes come, and of files with a trailer.
#include "Checksum.h"
#include "TestSupport.h"

#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

using namespace fathom;
using namespace fathom::test;

namespace {

// The bytes of the specification's own test: from a generator of 32 bits.
std::string sanityBytes(size_t Count) {
  std::string Bytes;
  uint64_t Generator = 2654435761u;
  for (size_t I = 0; I < Count; ++I) {
    Bytes.push_back(char(Generator >> 56));
    Generator *= 11400714785074694797ull;
  }
  return Bytes;
}

uint64_t sumOf(const std::string &Bytes, uint64_t Seed = 0) {
  Checksum Sum(Seed);
  Sum.add(Bytes.data(), Bytes.size());
  return Sum.value();
}

} // namespace

TEST(Checksum, HasThePublishedValues) {
  EXPECT_EQ(sumOf(""), 0xEF46DB3751D8E999ull);
  EXPECT_EQ(sumOf("a"), 0xD24EC4F1A98C6E5Bull);
  EXPECT_EQ(sumOf("abc"), 0x44BC2CF5AD770999ull);
  EXPECT_EQ(sumOf("Nobody inspects the spammish repetition"), 0xFBCEA83C8A378BF1ull);
}

TEST(Checksum, DoesNotDependOnThePieces) {
  for (size_t Count = 0; Count < 200; ++Count) {
    std::string Bytes = sanityBytes(Count);
    for (size_t Piece : {1, 3, 31, 32, 33, 64}) {
      Checksum Sum(Count);
      for (size_t At = 0; At < Count; At += Piece)
        Sum.add(Bytes.data() + At, std::min(Piece, Count - At));
      ASSERT_EQ(Sum.value(), sumOf(Bytes, Count)) << Count << " bytes in pieces of " << Piece;
    }
  }
}

TEST(Checksum, OfAFile) {
  TemporaryFolder Folder;
  std::string Path = Folder / "checked", Bytes = readFile(artifact("copy"));
  writeFile(Path, Bytes);
  expectError(fathom_artifact_check(Path.c_str()), FATHOM_ERROR_FORMAT, "does not end with its checksum");
  int Fd = open(Path.c_str(), O_RDONLY);
  Trailer End;
  ASSERT_TRUE(makeTrailer(Fd, Bytes.size(), true, End));
  close(Fd);
  Bytes.append(reinterpret_cast<const char *>(&End), sizeof(End));
  writeFile(Path, Bytes);
  expectOk(fathom_artifact_check(Path.c_str()));
  fathom_model *Model = nullptr;
  expectOk(fathom_model_load(Path.c_str(), &Model));
  fathom_model_free(Model);

  // Every byte counts, and those of the headers and of what the system's loader reads when the file is loaded, too.
  auto Changed = [&](size_t At) {
    std::string Copy = Bytes;
    Copy[At] = char(Copy[At] ^ 1);
    writeFile(Path, Copy);
    return Path.c_str();
  };
  for (size_t At : {size_t(100), Bytes.size() / 2, Bytes.size() - sizeof(End) - 1, Bytes.size() - 1})
    expectError(fathom_artifact_check(Changed(At)), FATHOM_ERROR_FORMAT, "");
  Elf64_Ehdr Header;
  memcpy(&Header, Bytes.data(), sizeof(Header));
  std::vector<Elf64_Phdr> Segments(Header.e_phnum);
  memcpy(Segments.data(), Bytes.data() + Header.e_phoff, Segments.size() * sizeof(Elf64_Phdr));
  size_t Dynamic = 0;
  for (const Elf64_Phdr &Segment : Segments)
    if (Segment.p_type == PT_DYNAMIC)
      Dynamic = Segment.p_offset;
  ASSERT_GT(Dynamic, 0u);
  // A tag, an address, and the table that is relocated before the dynamic section.
  for (size_t At : {size_t(64 + 8), Dynamic, Dynamic + 8, Dynamic + 15, Dynamic - 1})
    expectError(fathom_model_load(Changed(At), &Model), FATHOM_ERROR_FORMAT, "headers and tables");
  writeFile(Path, Bytes + "x");
  expectError(fathom_artifact_check(Path.c_str()), FATHOM_ERROR_FORMAT, "does not end with its checksum");
  expectError(fathom_artifact_check(nullptr), FATHOM_ERROR_INVALID_ARGUMENT, "path is null");
}
