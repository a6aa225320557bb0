// Code generation as a pass for fathom-opt, so that the loops of a kernel can be tested from graph text.
#pragma once

namespace fathom {

// --emit-loops replaces the module's main function by the loops of its kernels, each with the default schedule; the
// option target names the CPU, which decides about lanes and tiles.
void registerEmitLoopsPass();

} // namespace fathom
