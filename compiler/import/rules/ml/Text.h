// Rules of operators on text: words by their numbers.
#pragma once

#include "compiler/import/rules/ml/Ml.h"

namespace fathom::importer {

llvm::ArrayRef<Rule> textRules();

// Where each element is among the keys; as many as there are keys where it is none of them (MlLabels.cpp).
mlir::Value positionOf(Node &node, mlir::Value input, const Column &keys);

} // namespace fathom::importer
