// Which values the integers in a model's inputs may have, so that someone can make up inputs that a model can run on.
#pragma once

#include "compiler/import/node/Node.h"

namespace fathom::importer {

// Notes at main's arguments, as valuesAttrName says, what this node takes for granted of those that it takes indices,
// lengths or sizes from.
void noteElementRanges(const onnx::NodeProto &node, const Attributes &attributes, llvm::ArrayRef<mlir::Value> inputs,
                       mlir::func::FuncOp main);

} // namespace fathom::importer
