// Random numbers from a counter, and floats of 16 bits by hand, as compilers differ in what they know of them.
#include "tools/fathom-measure/Data.h"

#include "runtime/abi.h"
#include "runtime/fathom_rt.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>

namespace fathom::measure {
namespace {

struct F64 {
  using Bits = double;
  static Bits encode(float value) { return value; }
  static double decode(Bits bits) { return bits; }
};

struct F32 {
  using Bits = float;
  static Bits encode(float value) { return value; }
  static double decode(Bits bits) { return bits; }
};

struct BF16 {
  using Bits = uint16_t;
  static Bits encode(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return Bits(bits >> 16);
  }
  static double decode(Bits bits) {
    uint32_t wide = uint32_t(bits) << 16;
    float value;
    memcpy(&value, &wide, sizeof value);
    return value;
  }
};

struct F16 {
  using Bits = uint16_t;
  // Of numbers far below its largest; the smallest ones become 0.
  static Bits encode(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    int32_t exponent = int32_t(bits >> 23 & 0xff) - 127 + 15;
    uint32_t sign = bits >> 16 & 0x8000;
    return Bits(exponent <= 0 ? sign : sign | uint32_t(exponent) << 10 | (bits >> 13 & 0x3ff));
  }
  static double decode(Bits bits) {
    int exponent = bits >> 10 & 0x1f, fraction = bits & 0x3ff;
    double size = exponent == 31 ? (fraction ? NAN : INFINITY)
                  : exponent     ? std::ldexp(1024 + fraction, exponent - 25)
                                 : std::ldexp(fraction, -24);
    return bits & 0x8000 ? -size : size;
  }
};

uint64_t splitmix64(uint64_t x) {
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

// The sum of four uniform numbers, which is close to normal and quick.
float normal(uint64_t draw) {
  int32_t sum = 0;
  for (int part = 0; part < 4; ++part)
    sum += int32_t(draw >> (16 * part) & 0xffff);
  return float(sum - 2 * 0xffff) * (1.7320508f / 65536.0f);
}

template <typename Type> void fillFloats(char *data, int64_t bytes, uint64_t seed) {
  using Bits = typename Type::Bits;
  for (int64_t i = 0; i < bytes / int64_t(sizeof(Bits)); ++i) {
    Bits bits = Type::encode(normal(splitmix64(seed + uint64_t(i))));
    memcpy(data + i * int64_t(sizeof(Bits)), &bits, sizeof bits);
  }
}

template <typename Type>
std::string floatDifference(const char *expected, const char *found, int64_t bytes, double tolerance) {
  using Bits = typename Type::Bits;
  int64_t count = bytes / int64_t(sizeof(Bits));
  auto element = [](const char *data, int64_t i) {
    Bits bits;
    memcpy(&bits, data + i * int64_t(sizeof(Bits)), sizeof bits);
    return Type::decode(bits);
  };
  double squares = 0;
  for (int64_t i = 0; i < count; ++i)
    if (double value = element(expected, i); std::isfinite(value))
      squares += value * value;
  double size = count ? std::sqrt(squares / double(count)) : 0;
  for (int64_t i = 0; i < count; ++i) {
    double a = element(expected, i), b = element(found, i);
    bool isNear = std::isfinite(a) && std::fabs(a - b) <= tolerance * (size + std::fabs(a));
    if (a == b || isNear || (std::isnan(a) && std::isnan(b)))
      continue;
    char text[128];
    snprintf(text, sizeof text, "element %lld is %g and not %g", static_cast<long long>(i), b, a);
    return text;
  }
  return "";
}

} // namespace

void fill(char *data, int64_t bytes, int32_t type, uint64_t seed) {
  seed = splitmix64(seed);
  switch (type) {
  case FATHOM_ABI_F32:
    return fillFloats<F32>(data, bytes, seed);
  case FATHOM_ABI_F64:
    return fillFloats<F64>(data, bytes, seed);
  case FATHOM_ABI_F16:
    return fillFloats<F16>(data, bytes, seed);
  case FATHOM_ABI_BF16:
    return fillFloats<BF16>(data, bytes, seed);
  case FATHOM_ABI_I8:
  case FATHOM_ABI_U8:
    for (int64_t i = 0; i < bytes; ++i)
      data[i] = char(splitmix64(seed + uint64_t(i)) >> 56);
    return;
  default:
    memset(data, 0, size_t(bytes));
  }
}

double Panels::extent() const {
  double last = double(offset);
  for (size_t d = 0; d < dims.size(); ++d) {
    auto [size, stride] = dims[d];
    bool isBlocked = int64_t(d) == blockedDim;
    int64_t steps = isBlocked ? std::min(size, block) - 1 : size - 1, blocks = isBlocked ? (size - 1) / block : 0;
    last += double(blocks) * double(blockStride) + double(steps) * double(stride);
  }
  return last + 1;
}

void fillPanels(char *data, int64_t bytes, int32_t type, uint64_t seed, const Panels &panels) {
  size_t width = size_t(fathom_dtype_bytes(type)), count = 1;
  for (auto [size, stride] : panels.dims)
    count *= size_t(size);
  std::vector<char> elements(count * width);
  fill(elements.data(), int64_t(elements.size()), type, seed);
  memset(data, 0, size_t(bytes));
  std::vector<int64_t> index(panels.dims.size());
  for (size_t i = 0; i < count; ++i) {
    int64_t at = panels.offset;
    for (size_t d = 0; d < index.size(); ++d) {
      bool isBlocked = int64_t(d) == panels.blockedDim;
      at += isBlocked ? index[d] / panels.block * panels.blockStride + index[d] % panels.block * panels.dims[d].second
                      : index[d] * panels.dims[d].second;
    }
    memcpy(data + size_t(at) * width, elements.data() + i * width, width);
    for (size_t d = index.size(); d-- > 0 && ++index[d] == panels.dims[d].first;)
      index[d] = 0;
  }
}

std::string difference(const char *expected, const char *found, int64_t bytes, int32_t type, double tolerance) {
  switch (type) {
  case FATHOM_ABI_F32:
    return floatDifference<F32>(expected, found, bytes, tolerance);
  case FATHOM_ABI_F64:
    return floatDifference<F64>(expected, found, bytes, tolerance);
  case FATHOM_ABI_F16:
    return floatDifference<F16>(expected, found, bytes, tolerance);
  case FATHOM_ABI_BF16:
    return floatDifference<BF16>(expected, found, bytes, tolerance);
  default:
    for (int64_t i = 0; i < bytes; ++i)
      if (expected[i] != found[i])
        return "byte " + std::to_string(i) + " differs";
    return "";
  }
}

} // namespace fathom::measure
