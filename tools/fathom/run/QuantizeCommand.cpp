// fathom quantize: hands over to fathom/quantization, because models are rewritten with ONNX's Python package.
#include "tools/fathom/run/PythonCommand.h"

using namespace llvm;

namespace fathom {

Expected<int> quantizeCommand(const Arguments &arguments) {
  return runPythonCommand(QuantizeBit, "quantize", "fathom.quantization.command", arguments);
}

} // namespace fathom
