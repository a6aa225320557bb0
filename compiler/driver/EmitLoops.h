// Code generation as a pass for fathom-opt, so that the loops of a kernel can be tested from graph text.
#pragma once

namespace fathom {

// --emit-loops replaces the module's main function by the loops of its kernels. Only the passes from layouts on run
// before: what is tested is what is written.
void registerEmitLoopsPass();

} // namespace fathom
