// Sizes: binds the symbolic dimensions from the inputs and holds what a caller gives against the artifact.
#ifndef FATHOM_RUNTIME_SHAPES_H
#define FATHOM_RUNTIME_SHAPES_H

#include "abi.h"
#include "fathom_rt.h"

namespace fathom {

constexpr int64_t Unbound = -1;

// Holds the dimensions of one input against the artifact and sets the Unbound ones among Symbols that they name.
[[nodiscard]] fathom_status *bindInput(const fathom_artifact &Artifact, uint32_t Input, const int64_t *Dims,
                                       int64_t *Symbols);

// Writes the values of the symbols that a message names, as " for b = 1, h = 9"; those that find no room are left out.
void spellSymbols(const fathom_artifact &Artifact, const int64_t *Symbols, const char *Message, char *Text,
                  size_t Room);

// The bytes of a tensor of these dimensions; false when they overflow.
[[nodiscard]] bool tensorBytes(int32_t DType, int32_t Rank, const int64_t *Dims, size_t &Bytes);

enum class Role { Input, Output };

// Checks of a caller's tensor what needs no sizes: type, rank and that there are dimensions.
[[nodiscard]] fathom_status *checkKind(Role R, const fathom_abi_tensor &Expected, const fathom_tensor &Given);

// Checks that the caller's buffer is there, aligned, and holds a tensor of these dimensions.
[[nodiscard]] fathom_status *checkBuffer(Role R, const fathom_abi_tensor &Expected, const fathom_tensor &Given,
                                         const int64_t *Dims);

// Checks an output's computed dimensions against the artifact (then the bug is ours) and against the caller's.
[[nodiscard]] fathom_status *checkOutputDims(const fathom_abi_tensor &Expected, const int64_t *Computed,
                                             const int64_t *Given);

} // namespace fathom

#endif
