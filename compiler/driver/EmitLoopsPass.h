// Code generation as a pass for fathom-opt, so that the loops of a kernel can be tested from graph text.
#pragma once

namespace fathom {

// --emit-loops replaces the module's main function by the loops of its kernels. The option target names the CPU, which
// decides about lanes and tiles; plan names a file with schedules, instead of the default ones.
void registerEmitLoopsPass();

} // namespace fathom
