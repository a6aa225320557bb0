// Tensor data in files beside the model: found beneath the model's folder only, each file opened and mapped once.
#pragma once

#include "compiler/import/read/MappedFile.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Support/LLVM.h"
#include "llvm/ADT/StringMap.h"

namespace onnx {
class TensorProto;
}

namespace fathom::importer {

class ExternalData {
public:
  // An empty folder means that the model may not have external data.
  explicit ExternalData(llvm::StringRef folder) : folder(folder.str()) {}
  ~ExternalData();
  ExternalData(const ExternalData &) = delete;
  ExternalData &operator=(const ExternalData &) = delete;

  struct Piece {
    std::shared_ptr<MappedFile> file;
    llvm::StringRef bytes;
  };
  // The `size` bytes that the tensor's external_data entries lead to; reports at `loc` otherwise.
  mlir::FailureOr<Piece> find(const onnx::TensorProto &tensor, uint64_t size, mlir::Location loc);

private:
  std::shared_ptr<MappedFile> open(llvm::StringRef location, mlir::Location loc);

  std::string folder;
  int folderFd = -1;
  llvm::StringMap<std::shared_ptr<MappedFile>> files;
};

} // namespace fathom::importer
