// XXH64 as its specification has it, and the trailer of artifacts.
#include "Checksum.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <elf.h>
#include <unistd.h>

using namespace fathom;

namespace {

// Both architectures are little-endian, as the algorithm is.
constexpr uint64_t Primes[] = {0x9E3779B185EBCA87ull, 0xC2B2AE3D27D4EB4Full, 0x165667B19E3779F9ull,
                               0x85EBCA77C2B2AE63ull, 0x27D4EB2F165667C5ull};

template <class T> T load(const unsigned char *From) {
  T Value;
  memcpy(&Value, From, sizeof(T));
  return Value;
}

uint64_t rotate(uint64_t Value, int Bits) { return Value << Bits | Value >> (64 - Bits); }

uint64_t mix(uint64_t Lane, uint64_t Word) { return rotate(Lane + Word * Primes[1], 31) * Primes[0]; }

void addStripe(uint64_t (&Lanes)[4], const unsigned char *Stripe) {
  for (int I = 0; I < 4; ++I)
    Lanes[I] = mix(Lanes[I], load<uint64_t>(Stripe + 8 * I));
}

constexpr size_t StripeBytes = 32, PieceBytes = 1 << 16;

bool readAll(int Fd, unsigned char *To, size_t Count, uint64_t Offset) {
  while (Count) {
    ssize_t Got = pread(Fd, To, Count, off_t(Offset));
    if (Got < 0 && errno == EINTR)
      continue;
    if (Got <= 0)
      return false;
    To += Got, Offset += uint64_t(Got), Count -= size_t(Got);
  }
  return true;
}

bool addRange(int Fd, uint64_t First, uint64_t Last, Checksum &Sum) {
  unsigned char Piece[PieceBytes];
  for (uint64_t At = First; At < Last;) {
    size_t Count = size_t(std::min<uint64_t>(PieceBytes, Last - At));
    if (!readAll(Fd, Piece, Count, At))
      return false;
    Sum.add(Piece, Count);
    At += Count;
  }
  return true;
}

} // namespace

Checksum::Checksum(uint64_t Seed)
    : Seed(Seed), Lanes{Seed + Primes[0] + Primes[1], Seed + Primes[1], Seed, Seed - Primes[0]} {}

void Checksum::add(const void *Bytes, size_t Count) {
  auto *From = static_cast<const unsigned char *>(Bytes);
  Total += Count;
  if (RestBytes) {
    size_t Taken = std::min(Count, StripeBytes - RestBytes);
    memcpy(Rest + RestBytes, From, Taken);
    RestBytes += Taken, From += Taken, Count -= Taken;
    if (RestBytes < StripeBytes)
      return;
    addStripe(Lanes, Rest);
  }
  for (; Count >= StripeBytes; From += StripeBytes, Count -= StripeBytes)
    addStripe(Lanes, From);
  memcpy(Rest, From, RestBytes = Count);
}

uint64_t Checksum::value() const {
  uint64_t Sum = Seed + Primes[4];
  if (Total >= StripeBytes) {
    Sum = rotate(Lanes[0], 1) + rotate(Lanes[1], 7) + rotate(Lanes[2], 12) + rotate(Lanes[3], 18);
    for (uint64_t Lane : Lanes)
      Sum = (Sum ^ mix(0, Lane)) * Primes[0] + Primes[3];
  }
  Sum += Total;
  const unsigned char *At = Rest, *End = Rest + RestBytes;
  for (; End - At >= 8; At += 8)
    Sum = rotate(Sum ^ mix(0, load<uint64_t>(At)), 27) * Primes[0] + Primes[3];
  if (End - At >= 4) {
    Sum = rotate(Sum ^ load<uint32_t>(At) * Primes[0], 23) * Primes[1] + Primes[2];
    At += 4;
  }
  for (; At < End; ++At)
    Sum = rotate(Sum ^ *At * Primes[4], 11) * Primes[0];
  Sum = (Sum ^ Sum >> 33) * Primes[1];
  Sum = (Sum ^ Sum >> 29) * Primes[2];
  return Sum ^ Sum >> 32;
}

bool fathom::makeTrailer(int Fd, uint64_t Bytes, bool WithContent, Trailer &Made) {
  Elf64_Ehdr Header;
  if (Bytes < sizeof(Header) || !readAll(Fd, reinterpret_cast<unsigned char *>(&Header), sizeof(Header), 0))
    return false;
  Made = {TrailerMagic, Bytes + sizeof(Trailer), 0, 0};
  Checksum Head(Made.FileBytes), Content;
  uint64_t Segments = uint64_t(Header.e_phnum) * sizeof(Elf64_Phdr);
  if (Header.e_phoff > Bytes || Segments > Bytes - Header.e_phoff)
    return false;
  Head.add(&Header, sizeof(Header));
  if (!addRange(Fd, Header.e_phoff, Header.e_phoff + Segments, Head))
    return false;
  // What is no part of the file, and more than a file's worth, is in no artifact and has another sum.
  uint64_t Left = Bytes;
  bool WasWritable = false;
  for (unsigned I = 0; I < Header.e_phnum && !WasWritable; ++I) {
    Elf64_Phdr Segment;
    if (!readAll(Fd, reinterpret_cast<unsigned char *>(&Segment), sizeof(Segment),
                 Header.e_phoff + I * sizeof(Segment)))
      return false;
    if (Segment.p_type != PT_LOAD || Segment.p_flags & PF_X)
      continue;
    uint64_t First = std::min(Segment.p_offset, Bytes), Count = std::min({Segment.p_filesz, Bytes - First, Left});
    if (!addRange(Fd, First, First + Count, Head))
      return false;
    Left -= Count;
    WasWritable = Segment.p_flags & PF_W;
  }
  if (WithContent && !addRange(Fd, 0, Bytes, Content))
    return false;
  Made.Head = Head.value();
  Made.Content = Content.value();
  return true;
}
