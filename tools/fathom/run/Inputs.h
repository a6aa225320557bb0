// A model's inputs: from files where they are given, random elsewhere.
#pragma once

#include "compiler/driver/Options.h"
#include "tools/fathom/run/LoadedModel.h"

namespace fathom {

// One value for each input. The random ones depend only on the seed and on the input's place, name, type and shape;
// fathom/inputs.py makes the same ones. A model that takes them for indices may refuse them; then smaller integers are
// tried before this fails.
llvm::Expected<std::vector<Array>> gatherInputs(LoadedModel &model, const OptionValues &options);

} // namespace fathom
