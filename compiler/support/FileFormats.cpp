// Formats by their first bytes.
#include "compiler/support/FileFormats.h"

#include "llvm/Support/Endian.h"

using namespace llvm;

namespace fathom {

namespace {
struct Format {
  size_t at; // where the bytes are
  StringLiteral bytes;
  StringLiteral hint;
};
} // namespace

static constexpr Format formats[] = {
    {0, "version https://git-lfs", "this is a Git LFS pointer; fetch the model with git lfs pull"},
    {4, "TFL3", "this is a TensorFlow Lite model; convert it with tf2onnx"},
    {4, "ORTM", "this is ONNX Runtime's own format; give the .onnx file that it was made from"},
    {0, "\x89HDF", "this is an HDF5 file, such as Keras writes; convert the model with tf2onnx"},
    {0, "\x93NUMPY", "this is a NumPy array; 'fathom run' takes it as --input NAME=@FILE.npy"},
    {0, "GGUF",
     "this is a GGUF file, which has weights and no graph; export the model from PyTorch, with torch.onnx.export"},
    {0, "ptrt", "this is a TensorRT engine; give the .onnx file that it was built from"},
    {0, "ftrt", "this is a TensorRT engine; give the .onnx file that it was built from"},
    {0, "ML\xEFR", "this is MLIR's bytecode; export the model as ONNX"},
    {0, "\x80\x02", "this is a pickle, such as PyTorch wrote; load it there and export it with torch.onnx.export"},
    {0,
     "\x7f"
     "ELF",
     "this is compiled code; if Fathom made it, 'fathom run' runs it and 'fathom inspect' tells what it is"},
};

// Names of entries lie in the file as they are.
static StringRef recogniseZip(StringRef bytes) {
  StringRef head = bytes.take_front(1 << 16);
  if (head.contains("/code/") || head.contains("constants.pkl"))
    return "this is a TorchScript archive; export the model with torch.onnx.export";
  if (head.contains("data.pkl"))
    return "this is what torch.save writes, weights without a graph; export the model with torch.onnx.export";
  if (head.contains(".npy"))
    return "this is an archive of NumPy arrays; a model is an .onnx file";
  if (head.contains("config.json") && head.contains("model.weights.h5"))
    return "this is a Keras model; convert it with tf2onnx";
  return "this is a zip archive, such as PyTorch writes; export the model with torch.onnx.export";
}

StringRef recogniseFormat(StringRef bytes) {
  for (const Format &format : formats)
    if (bytes.substr(format.at).starts_with(format.bytes))
      return format.hint;
  if (bytes.starts_with("PK\x03\x04"))
    return recogniseZip(bytes);
  // The length of a header, and the header in JSON.
  if (bytes.size() > 10 && bytes[8] == '{' && bytes[9] == '"' && support::endian::read64le(bytes.data()) < (100u << 20))
    return "this is a safetensors file, which has weights and no graph; export the model with torch.onnx.export";
  StringRef text = bytes.take_front(4096).ltrim();
  if (text.starts_with("<?xml") || text.starts_with("<net "))
    return text.contains("<net ") ? "this is OpenVINO's format; give the .onnx file that it was converted from"
                                  : "this is XML; a model is an .onnx file";
  return "";
}

bool looksLikeOnnx(StringRef bytes) {
  // ir_version, a small number, and behind it another field of ModelProto.
  return bytes.size() > 3 && bytes[0] == 0x08 && bytes[1] > 0 && bytes[1] < 32 &&
         StringRef("\x12\x1a\x3a\x42\x22\x28\x32").contains(bytes[2]);
}

} // namespace fathom
