// Rules of the operators that ONNX Runtime's exporters and optimizer write, in domain com.microsoft.
#pragma once

#include "compiler/import/rules/AttentionParts.h"
#include "compiler/import/rules/Rounding.h"

namespace fathom::importer {

// Whether a node is one of these operators: of their domain, or an old one that ONNX Runtime puts into ONNX's own.
bool isMicrosoft(llvm::StringRef domain, llvm::StringRef op);
// Makes the graph ops of such a node.
llvm::LogicalResult normalizeMicrosoft(Node &node);

// The rules of each family, in Microsoft<Family>.cpp.
llvm::ArrayRef<Rule> microsoftAttentionRules();
llvm::ArrayRef<Rule> microsoftFusedRules();
llvm::ArrayRef<Rule> microsoftGroupQueryRules();
llvm::ArrayRef<Rule> microsoftMultiHeadRules();
llvm::ArrayRef<Rule> microsoftQuantizedRules();

} // namespace fathom::importer
