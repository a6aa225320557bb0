// What each pass of a pipeline does to a model.
#pragma once

#include "tools/fathom/Commands.h"

namespace fathom {

// Runs the pipeline that the options say on a model, and prints of each pass whether it applies and why not, what it
// changed, and its time. Gives the exit code.
llvm::Expected<int> reportPasses(llvm::StringRef model, const OptionValues &options);

// Prints what kind of network a model is and what of the pipeline cannot change it, from its ops and edges alone.
llvm::Expected<int> explainPasses(llvm::StringRef model, const OptionValues &options);

// Prints which passes, of those that can stand in any order, change a model's graph again where they run twice, and
// which pairs of them give other graphs in the other order.
llvm::Expected<int> comparePassOrders(llvm::StringRef model, const OptionValues &options);

} // namespace fathom
