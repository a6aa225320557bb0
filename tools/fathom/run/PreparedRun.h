// What the commands that run a model share: the artifact that they were given, and a model with inputs and room for its
// outputs.
#pragma once

#include "tools/fathom/compile/CompileCommand.h"
#include "tools/fathom/run/LoadedModel.h"

namespace fathom {

// The compiled model of a command that also takes an ONNX model, which is then compiled for this machine first.
class GivenArtifact {
public:
  // Gives 0 or an exit code, as compileTo does. For a compiled model, options that only a compilation would heed are a
  // usage error.
  llvm::Expected<int> open(llvm::StringRef given, const OptionValues &options, CommandBit command);
  const std::string &path() const { return artifact; }
  // The ONNX model; empty where none was given.
  const std::string &source() const { return model; }

private:
  std::string artifact, model;
  TemporaryArtifact temporary;
};

// A loaded model that can run, again and again.
struct PreparedRun {
  std::unique_ptr<LoadedModel> model;
  std::vector<Array> inputs, outputs;

  llvm::Error run() { return model->run(inputs, outputs); }
};

// Loads the artifact, gathers inputs from the options and makes room for the outputs.
llvm::Expected<PreparedRun> prepareRun(llvm::StringRef artifact, const OptionValues &options);

} // namespace fathom
