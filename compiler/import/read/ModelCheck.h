// Checks of a parsed model before anything is imported: limits, names, operator sets, recursion; and the order of its
// nodes.
#pragma once

#include "compiler/import/read/ImportOptions.h"
#include "compiler/support/Diagnostics.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

#include "onnx.pb.h"

namespace fathom::importer {

// ONNX's operator sets that the rules in this folder were written against (the newest is that of onnx 1.23).
inline constexpr int64_t oldestOpset = 1;
inline constexpr int64_t newestOpset = 28;

// By domain; ONNX's own is "".
using Opsets = llvm::StringMap<int64_t>;
using Nodes = google::protobuf::RepeatedPtrField<onnx::NodeProto>;

// The domain, with both spellings of ONNX's own as "".
inline llvm::StringRef domainOf(llvm::StringRef domain) { return domain == "ai.onnx" ? "" : domain; }
// The key of a model-local function.
std::string functionKey(llvm::StringRef domain, llvm::StringRef name, llvm::StringRef overload);
// The node's name, or one made of its operator and first output.
std::string nameOf(const onnx::NodeProto &node);

// Parses `bytes`; reports at `loc` what else than an ONNX model they are.
std::shared_ptr<onnx::ModelProto> parseModel(llvm::StringRef bytes, const ImportLimits &limits, mlir::Location loc);
// Limits, text encoding and function recursion of the whole model.
llvm::LogicalResult checkModel(const onnx::ModelProto &model, const ImportLimits &limits, mlir::Location loc);
mlir::FailureOr<Opsets> readOpsets(const google::protobuf::RepeatedPtrField<onnx::OperatorSetIdProto> &imports,
                                   mlir::Location loc);
// The nodes in an order in which each comes after those it needs. `defined` are the names that exist before them;
// `isOutside` tells those of the graphs around a branch or loop. Duplicate, missing and cyclic names are reported.
mlir::FailureOr<std::vector<const onnx::NodeProto *>> sortNodes(
    const Nodes &nodes, const llvm::StringSet<> &defined, mlir::Location loc,
    llvm::function_ref<bool(llvm::StringRef)> isOutside = [](llvm::StringRef) { return false; });

} // namespace fathom::importer
