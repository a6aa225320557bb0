// What became of the nodes that are in no kernel.
#pragma once

#include "compiler/driver/Options.h"
#include "llvm/Support/JSON.h"

namespace fathom {

// The nodes of a manifest's other_ops, and those that the artifact knows nothing of, which only the model still names;
// none of these where `model` is empty.
llvm::json::Array explainOtherNodes(const llvm::json::Object &manifest, llvm::StringRef model,
                                    const OptionValues &options);

} // namespace fathom
