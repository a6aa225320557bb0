// The checksum of artifacts, XXH64: the compiler writes it, the runtime verifies it.
#ifndef FATHOM_RUNTIME_CHECKSUM_H
#define FATHOM_RUNTIME_CHECKSUM_H

#include <cstddef>
#include <cstdint>

namespace fathom {

// Of bytes that come piece by piece.
class Checksum {
public:
  explicit Checksum(uint64_t Seed = 0);
  void add(const void *Bytes, size_t Count);
  uint64_t value() const;

private:
  uint64_t Seed, Lanes[4], Total = 0;
  unsigned char Rest[32]; // bytes that do not make a whole stripe yet
  size_t RestBytes = 0;
};

// What ends the file of an artifact.
struct Trailer {
  uint64_t Magic;
  uint64_t FileBytes; // this included
  // Of what the loader and the runtime believe: the ELF header, the program headers and the segments without code up to
  // the one that is written (relocations, tables, the dynamic section); not of the weights behind. FileBytes is the
  // seed.
  uint64_t Head;
  uint64_t Content; // of everything before this
};

constexpr uint64_t TrailerMagic = 0x31444e454d4f4854ull;

// The trailer of a file that ends behind Bytes bytes of content; false where it cannot be read.
bool makeTrailer(int Fd, uint64_t Bytes, bool WithContent, Trailer &Made);

} // namespace fathom

#endif
