// The floating-point mode of the thread while it runs tasks: round to nearest, keep denormals, trap nothing.
// A caller may have set another mode (-ffast-math does); results would then depend on which thread ran which task.
#ifndef FATHOM_RUNTIME_FLOATMODE_H
#define FATHOM_RUNTIME_FLOATMODE_H

#include <cstdint>

namespace fathom {

class StandardFloatMode {
public:
  StandardFloatMode() : Saved(get()) {
    if (Saved != Standard)
      set(Standard);
  }
  ~StandardFloatMode() {
    if (Saved != Standard)
      set(Saved);
  }
  StandardFloatMode(const StandardFloatMode &) = delete;
  StandardFloatMode &operator=(const StandardFloatMode &) = delete;

private:
#if defined(__aarch64__)
  using Mode = uint64_t;
  static constexpr Mode Standard = 0;
  static Mode get() {
    Mode Value;
    __asm__ volatile("mrs %0, fpcr" : "=r"(Value));
    return Value;
  }
  static void set(Mode Value) { __asm__ volatile("msr fpcr, %0" : : "r"(Value) : "memory"); }
#elif defined(__x86_64__)
  using Mode = uint32_t;
  static constexpr Mode Standard = 0x1f80;
  // The lowest six bits only record what happened.
  static Mode get() { return __builtin_ia32_stmxcsr() & ~Mode(0x3f); }
  static void set(Mode Value) { __builtin_ia32_ldmxcsr(Value); }
#endif

  Mode Saved;
};

} // namespace fathom

#endif
