// Several machines that one artifact is compiled for.
#pragma once

#include "compiler/target/Target.h"

namespace fathom {

// Targets as parseTarget takes them, with commas between them; one alone is one. Several are CPUs of one architecture
// with different features and names. They come in the order in which a loader tries them: one whose features another
// one has too comes after it, and those of which neither has all of the other's keep the order of the text.
llvm::Expected<std::vector<Target>> parseTargets(llvm::StringRef text);

} // namespace fathom
