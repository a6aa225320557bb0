// Opening, loading and gathering, in this order.
#include "tools/fathom/run/PreparedRun.h"

#include "tools/fathom/run/ArtifactReader.h"
#include "tools/fathom/run/Inputs.h"

using namespace llvm;

namespace fathom {

Expected<int> GivenArtifact::open(StringRef given, const OptionValues &options, CommandBit command) {
  artifact = given.str();
  if (looksCompiled(given)) {
    if (Error error = refuseCompileOptions(options, given))
      return std::move(error);
    return 0;
  }
  CompileReport report;
  Expected<int> exitCode = temporary.compile(given, options, command, report);
  model = std::exchange(artifact, temporary.path());
  return exitCode;
}

Expected<PreparedRun> prepareRun(StringRef artifact, const OptionValues &options) {
  if (options.flag("check"))
    if (Error error = takeStatus(fathom_artifact_check(artifact.str().c_str())))
      return std::move(error);
  auto model =
      LoadedModel::load(artifact, options.integer("threads"), options.has("device") ? options.integer("device") : -1);
  if (!model)
    return model.takeError();
  auto inputs = gatherInputs(**model, options);
  if (!inputs)
    return inputs.takeError();
  auto outputs = (*model)->allocateOutputs(*inputs);
  if (!outputs)
    return outputs.takeError();
  return PreparedRun{std::move(*model), std::move(*inputs), std::move(*outputs)};
}

} // namespace fathom
