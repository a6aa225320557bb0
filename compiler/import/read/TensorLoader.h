// The one way from a TensorProto, wherever it stands in a model, to an attribute; checks sizes before it touches data.
#pragma once

#include "compiler/import/read/ExternalData.h"
#include "compiler/import/read/ImportOptions.h"
#include "compiler/import/read/Vocabulary.h"
#include "compiler/support/Diagnostics.h"
#include "mlir/IR/BuiltinAttributeInterfaces.h"

namespace onnx {
class ModelProto;
class TensorProto;
} // namespace onnx

namespace fathom::importer {

class TensorLoader {
public:
  // Large tensors are not copied: their attributes keep `model` or the mapped data file alive.
  TensorLoader(std::shared_ptr<const onnx::ModelProto> model, llvm::StringRef folder, const ImportLimits &limits)
      : model(std::move(model)), external(folder), limits(limits) {}

  // Reports at `loc` what is wrong. `name` names the resource that holds a large tensor.
  mlir::FailureOr<mlir::ElementsAttr> load(const onnx::TensorProto &tensor, llvm::StringRef name, mlir::Location loc);

  Vocabulary vocabulary;

private:
  mlir::FailureOr<mlir::ElementsAttr> loadStrings(const onnx::TensorProto &tensor, mlir::RankedTensorType type,
                                                  mlir::Location loc);
  mlir::FailureOr<mlir::RankedTensorType> typeOf(const onnx::TensorProto &tensor, mlir::Location loc);

  std::shared_ptr<const onnx::ModelProto> model;
  ExternalData external;
  ImportLimits limits;
};

} // namespace fathom::importer
