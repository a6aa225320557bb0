// Compiles one math op, lowered by populateMathLowering, to native code in this process.
#pragma once

#include "compiler/codegen/common/MathLowering.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace fathom::mathtest {

// What to compile: `op` is the name as in the text form ("math.exp"), `element` is "f32" or "f64"; one lane is a
// scalar.
struct Spec {
  std::string op;
  unsigned operands = 1;
  std::string element = "f32";
  unsigned lanes = 1;
  MathOptions options;
};

// The machine; the default is the host with all it has.
struct Machine {
  std::string triple, cpu, features;
  static Machine host();
};

// The text of the function after lowering.
std::string lowered(const Spec &spec);
// The symbols that the object code for a machine needs from outside.
std::vector<std::string> undefinedSymbols(const Spec &spec, const Machine &machine);

// out[i] = op(a[i], b[i], c[i]) for i < count, a multiple of the lanes.
using Kernel = void (*)(const void *a, const void *b, const void *c, void *out, int64_t count);
// Stays valid for the life of the process. Fails the test if anything is undefined.
Kernel compile(const Spec &spec);

} // namespace fathom::mathtest
