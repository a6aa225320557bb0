// fathom inspect: what an artifact says of itself.
#include "tools/fathom/Commands.h"
#include "tools/fathom/run/ArtifactReader.h"
#include "tools/fathom/run/LoadedModel.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;

namespace fathom {

static std::string spellShape(const json::Object &tensor) {
  std::string text = tensor.getString("type").value_or("?").str() + "[";
  if (const json::Array *shape = tensor.getArray("shape"))
    for (auto [i, size] : enumerate(*shape)) {
      text += i ? "," : "";
      if (auto number = size.getAsInteger())
        text += std::to_string(*number);
      else
        text += size.getAsString().value_or("?").str();
    }
  return text + "]";
}

// A sequence or optional by its tensors, such as "sequence of f32[?,?]".
static std::string spellParts(ArrayRef<const json::Object *> parts) {
  std::string text;
  for (const json::Object *part : parts) {
    StringRef kind = part->getString("part").value_or("");
    if (kind == "present")
      text += "optional ";
    else if (kind == "data")
      text += "sequence of " + part->getString("type").value_or("?").str();
    else if (kind == "value")
      text += spellShape(*part);
    else if (const json::Array *shape = part->getArray("shape"); shape && shape->size() == 2)
      if (std::optional<int64_t> rank = (*shape)[1].getAsInteger()) {
        text += "[";
        for (int64_t d = 0; d < *rank; ++d)
          text += d ? ",?" : "?";
        text += "]";
      }
  }
  text += ", as";
  for (auto [i, part] : enumerate(parts))
    text += (i ? ", " : " ") + part->getString("name").value_or("?").str();
  return text;
}

static void printTensors(const json::Object &manifest, StringRef key) {
  SmallVector<const json::Object *> tensors;
  if (const json::Array *list = manifest.getArray(key))
    for (const json::Value &value : *list)
      if (const json::Object *tensor = value.getAsObject())
        tensors.push_back(tensor);
  for (ArrayRef<const json::Object *> rest = tensors; !rest.empty();) {
    std::optional<StringRef> of = rest.front()->getString("of");
    auto isOther = [&](const json::Object *tensor) { return tensor->getString("of") != of; };
    size_t count = of ? find_if(rest, isOther) - rest.begin() : 1;
    StringRef name = of ? *of : rest.front()->getString("name").value_or("?");
    outs() << formatv("  {0,-12}{1} {2}\n", key.drop_back(1), printable(name),
                      printable(of ? spellParts(rest.take_front(count)) : spellShape(*rest.front())));
    rest = rest.drop_front(count);
  }
}

static void printSymbols(const json::Object &manifest) {
  const json::Array *symbols = manifest.getArray("symbols");
  for (const json::Value &value : symbols ? *symbols : json::Array())
    if (const json::Object *symbol = value.getAsObject())
      outs() << formatv("  {0,-12}{1} from {2} to {3}\n", "dimension",
                        printable(symbol->getString("name").value_or("?")), symbol->getInteger("min").value_or(0),
                        symbol->getInteger("max").value_or(0));
}

static void printKernels(const json::Object &manifest) {
  const json::Array *kernels = manifest.getArray("kernels");
  if (!kernels)
    return;
  outs() << "  " << kernels->size() << " kernels, in the order of the run:\n";
  for (const json::Value &value : *kernels) {
    const json::Object *kernel = value.getAsObject();
    if (!kernel)
      continue;
    std::string schedule;
    if (const json::Object *knobs = kernel->getObject("schedule"))
      for (const auto &[name, knob] : *knobs)
        schedule += (" " + StringRef(name) + "=" + Twine(knob.getAsInteger().value_or(0))).str();
    outs() << formatv("    {0,-14} {1}  [{2}]{3}\n", kernel->getString("class").value_or("?"),
                      kernel->getString("symbol").value_or("?"), printable(kernel->getString("nodes").value_or("")),
                      schedule);
  }
}

static void printText(const ArtifactSummary &artifact) {
  const json::Object &manifest = artifact.manifest;
  auto line = [](StringRef name, const Twine &value) { outs() << formatv("  {0,-12}{1}\n", name, value.str()); };
  outs() << "compiled by fathom " << manifest.getString("fathom").value_or("?") << "\n";
  if (const json::Object *target = manifest.getObject("target")) {
    line("target", target->getString("triple").value_or("?") + ":" + target->getString("cpu").value_or("?"));
    std::string features;
    if (const json::Array *list = target->getArray("features"))
      for (const json::Value &feature : *list)
        features += (features.empty() ? "" : " ") + feature.getAsString().value_or("?").str();
    line("needs", features.empty() ? "the architecture's baseline" : features);
  }
  if (!artifact.variants.empty())
    line("variants", join(artifact.variants, ", ") + "; what follows is of " + cpuOf(manifest));
  line("flags", "--fp " + manifest.getString("fp").value_or("?"));
  line("model hash", manifest.getString("model_hash").value_or("?"));
  printTensors(manifest, "inputs");
  printTensors(manifest, "outputs");
  printSymbols(manifest);
  line("file", spellBytes(artifact.fileBytes));
  line("code", spellBytes(artifact.codeBytes));
  int64_t packed = manifest.getInteger("weight_bytes").value_or(0),
          source = manifest.getInteger("source_weight_bytes").value_or(0);
  line("weights", spellBytes(packed) +
                      (source ? formatv(", {0:f2} x the model's", double(packed) / source).str() : "") +
                      (packed && !artifact.weightBytes ? ", made up from a seed" : ""));
  auto arena = manifest.getInteger("arena_bytes");
  line("arena", arena ? spellBytes(*arena) : "depends on the symbolic dimensions");
  if (auto programs = manifest.getInteger("program_bytes"))
    line("programs", spellBytes(*programs) + ", which the device's driver makes code of");
  else
    line("scratch", spellBytes(manifest.getInteger("scratch_bytes").value_or(0)) + " for each thread");
  printKernels(manifest);
}

Expected<int> inspectCommand(const Arguments &arguments) {
  auto artifact = readArtifact(arguments.positional[0], arguments.options.text("variant"));
  if (!artifact)
    return artifact.takeError();
  if (Error error = takeStatus(fathom_artifact_check(arguments.positional[0].c_str())))
    return std::move(error);
  if (!arguments.options.flag("json")) {
    printText(*artifact);
    return 0;
  }
  json::Object described = artifact->manifest;
  described["file_bytes"] = int64_t(artifact->fileBytes);
  described["code_bytes"] = int64_t(artifact->codeBytes);
  described["file_weight_bytes"] = int64_t(artifact->weightBytes);
  printJson(std::move(described), /*oneLine=*/true);
  return 0;
}

} // namespace fathom
