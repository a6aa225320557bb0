// Tensor data in files beside the model: found beneath the model's folder only, each file opened and mapped once.
#include "compiler/import/read/ExternalData.h"
#include "compiler/support/Diagnostics.h"
#include "onnx.pb.h"
#include <fcntl.h>
#include <unistd.h>

using namespace mlir;

namespace fathom::importer {

ExternalData::~ExternalData() {
  if (folderFd >= 0)
    close(folderFd);
}

std::shared_ptr<MappedFile> ExternalData::open(StringRef location, Location loc) {
  if (auto it = files.find(location); it != files.end())
    return it->second;
  if (folder.empty()) {
    emitError(loc, ErrorCode::ExternalData)
        << "has external data in '" << location << "', but the model was given without a folder to look in";
    return nullptr;
  }
  if (folderFd < 0)
    folderFd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folderFd < 0) {
    emitError(loc, ErrorCode::ExternalData) << "the model's folder '" << folder << "' cannot be opened";
    return nullptr;
  }
  auto fd = openBeneath(folderFd, location);
  auto file = fd ? MappedFile::map(*fd, /*soleLink=*/true) : fd.takeError();
  if (!file) {
    auto diagnostic = emitError(loc, ErrorCode::ExternalData)
                      << "external data file '" << location << "': " << toString(file.takeError());
    diagnostic.attachNote() << "hint: data files lie in the model's folder '" << folder
                            << "' or beneath it, as plain files without links";
    return nullptr;
  }
  return files[location] = *file;
}

FailureOr<ExternalData::Piece> ExternalData::find(const onnx::TensorProto &tensor, uint64_t size, Location loc) {
  auto error = [&] { return emitError(loc, ErrorCode::ExternalData); };
  std::optional<StringRef> location;
  std::optional<uint64_t> offset, length;
  for (const auto &entry : tensor.external_data()) {
    StringRef key = entry.key(), value = entry.value();
    bool repeated = false;
    if (key == "location") {
      repeated = location.has_value();
      location = value;
    } else if (key == "offset" || key == "length") {
      auto &number = key == "offset" ? offset : length;
      repeated = number.has_value();
      uint64_t parsed;
      if (value.getAsInteger(10, parsed))
        return error() << "external data " << key << " '" << value << "' is not a natural number";
      number = parsed;
    } else if (key != "checksum") {
      return error() << "external data has the unknown key '" << key << "'";
    }
    if (repeated)
      return error() << "external data has the key '" << key << "' twice";
  }
  if (!location || location->empty())
    return error() << "external data has no location";
  if (length && *length != size)
    return error() << "external data has " << *length << " bytes where the tensor's shape needs " << size;
  std::shared_ptr<MappedFile> file = open(*location, loc);
  if (!file)
    return failure();
  StringRef bytes = file->bytes();
  uint64_t begin = offset.value_or(0);
  if (begin > bytes.size() || size > bytes.size() - begin)
    return error() << "external data at offset " << begin << " with " << size << " bytes reaches past the end of '"
                   << *location << "' (" << bytes.size() << " bytes)";
  return Piece{file, bytes.substr(begin, size)};
}

} // namespace fathom::importer
