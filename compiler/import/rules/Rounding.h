// Values as 8 bits hold them, by the range that they have when the model runs.
#pragma once

#include "compiler/import/rules/Parts.h"

namespace fathom::importer {

// Numbers in 8 bits without a sign, by the range that they have when the model runs.
struct Quantized {
  mlir::Value values, scale, zeroPoint;
};
Quantized quantizeByRange(Node &node, mlir::Value input);

// An LSTM that sees of its inputs and of its state what 8 bits hold of them; in Recurrent.cpp.
llvm::LogicalResult roundingLstm(Node &node);

} // namespace fathom::importer
