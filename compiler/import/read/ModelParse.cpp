// Bytes to ModelProto within protobuf's limits, with a guess at what the bytes are when they are no ONNX model.
#include "compiler/import/read/ModelCheck.h"
#include "compiler/support/FileFormats.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "google/protobuf/stubs/logging.h"

using namespace mlir;

namespace fathom::importer {

static StringRef hintFor(StringRef bytes) {
  StringRef known = recogniseFormat(bytes);
  return known.empty() ? "export or download it again" : known;
}

std::shared_ptr<onnx::ModelProto> parseModel(StringRef bytes, const ImportLimits &limits, Location loc) {
  auto refuse = [&](StringRef reason) {
    hint(emitError(loc, ErrorCode::NotOnnx) << reason, hintFor(bytes));
    return nullptr;
  };
  if (bytes.empty())
    return refuse("the model is empty");
  uint64_t limit = std::min<uint64_t>(limits.protoBytes, INT32_MAX);
  if (bytes.size() > limit) {
    emitError(loc, ErrorCode::Limit) << "the model has " << bytes.size() << " bytes, the limit is " << limit
                                     << "; larger models keep their weights in external data";
    return nullptr;
  }
  google::protobuf::LogSilencer silence;
  auto model = std::make_shared<onnx::ModelProto>();
  auto parse = [&](int nesting) {
    google::protobuf::io::ArrayInputStream array(bytes.data(), bytes.size());
    google::protobuf::io::CodedInputStream stream(&array);
    stream.SetTotalBytesLimit(limit);
    stream.SetRecursionLimit(nesting);
    return model->ParseFromCodedStream(&stream) && stream.ConsumedEntireMessage();
  };
  if (!parse(limits.nesting)) {
    // Protobuf does not say why it gave up. The stack has room for what shows whether it was the depth.
    constexpr int farBeyond = 64;
    if (!parse(limits.nesting * farBeyond))
      return refuse("not an ONNX model: it is cut short, nested too deeply or something else");
    hint(emitError(loc, ErrorCode::Limit) << "the model's messages are nested more than " << limits.nesting << " deep",
         "each If, Loop or Scan within another takes three levels");
    return nullptr;
  }
  if (!model->has_ir_version() || !model->has_graph())
    return refuse("not an ONNX model: it has no graph or no ir_version");
  return model;
}

} // namespace fathom::importer
