// The artifact as an ELF file: sections and the manifest in one of them.
#include "tools/fathom/run/ArtifactReader.h"

#include "runtime/CpuFeatures.h"
#include "tools/fathom/Terminal.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace llvm;

namespace fathom {

static Error notAnArtifact(StringRef path, const Twine &reason) {
  return fail(ErrorCode::BadArtifact, "'" + path + "' is not a compiled model: " + reason,
              "compile one with 'fathom compile MODEL.onnx -o MODEL.fathom'");
}

// An ELF file that contradicts itself: mostly one that was copied in part.
static Error damaged(StringRef path, Error reason) {
  return fail(ErrorCode::BadArtifact, "'" + path + "' is truncated or damaged: " + toString(std::move(reason)),
              "copy it again, or compile the model again");
}

StringRef cpuOf(const json::Object &manifest) {
  const json::Object *target = manifest.getObject("target");
  return target ? target->getString("cpu").value_or("") : "";
}

// Whether this machine runs code for the manifest's target.
static bool runsHere(const json::Object &manifest) {
  const json::Object *target = manifest.getObject("target");
  const json::Array *features = target ? target->getArray("features") : nullptr;
  return features && all_of(*features, [](const json::Value &feature) {
           return cpuFeature(feature.getAsString().value_or("").str().c_str()) == Feature::Present;
         });
}

// Of the manifests of an artifact's variants, the one to tell of.
static Expected<json::Object> choose(std::vector<json::Object> manifests, StringRef path, StringRef variant) {
  auto found = manifests.begin();
  if (!variant.empty()) {
    found = find_if(manifests, [&](const json::Object &manifest) { return cpuOf(manifest) == variant; });
    if (found == manifests.end())
      return fail(usageError, "'" + path + "' has no code for '" + variant + "'",
                  "it has code for " +
                      join(map_range(manifests, [](const json::Object &has) { return cpuOf(has).str(); }), ", "));
  } else if (auto here = find_if(manifests, runsHere); here != manifests.end()) {
    found = here;
  }
  return std::move(*found);
}

Expected<ArtifactSummary> readArtifact(StringRef path, StringRef variant) {
  sys::fs::file_status status;
  if (std::error_code code = sys::fs::status(path, status))
    return fail(ErrorCode::FileUnreadable, "cannot read '" + path + "': " + code.message());
  // Reading a pipe or a device might never end.
  if (status.type() != sys::fs::file_type::regular_file)
    return fail(ErrorCode::FileUnreadable, "cannot read '" + path + "': it is not a regular file");
  auto file = MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!file)
    return fail(ErrorCode::FileUnreadable, "cannot read '" + path + "': " + file.getError().message());
  MemoryBufferRef bytes = **file;
  if (!bytes.getBuffer().starts_with("\x7f"
                                     "ELF"))
    return notAnArtifact(path, bytes.getBuffer().empty() ? "it is empty" : "it is not an ELF file");
  auto parsed = object::ObjectFile::createELFObjectFile(bytes);
  if (!parsed)
    return damaged(path, parsed.takeError());
  auto *elf = dyn_cast<object::ELF64LEObjectFile>(parsed->get());
  if (!elf)
    return notAnArtifact(path, "it is not a 64-bit little-endian ELF file");
  // The iterators below assume that the table of sections lies within the file.
  if (auto sections = elf->getELFFile().sections(); !sections)
    return damaged(path, sections.takeError());
  ArtifactSummary summary;
  summary.fileBytes = bytes.getBufferSize();
  std::vector<json::Object> manifests; // of the variants in their order
  for (object::SectionRef section : elf->sections()) {
    Expected<StringRef> name = section.getName();
    if (!name)
      return damaged(path, name.takeError());
    if (*name == ".text")
      summary.codeBytes = section.getSize();
    if (*name == ".weights")
      summary.weightBytes = section.getSize();
    if (*name != ".fathom.manifest")
      continue;
    Expected<StringRef> contents = section.getContents();
    if (!contents)
      return damaged(path, contents.takeError());
    SmallVector<StringRef> texts;
    contents->split(texts, '\0', -1, /*KeepEmpty=*/false);
    for (StringRef text : texts) {
      Expected<json::Value> value = json::parse(text);
      if (!value)
        return notAnArtifact(path, "its manifest is damaged: " + toString(value.takeError()));
      if (json::Object *manifest = value->getAsObject())
        manifests.push_back(std::move(*manifest));
    }
  }
  if (manifests.empty())
    return notAnArtifact(path, "it has no manifest");
  if (manifests.size() > 1)
    for (const json::Object &manifest : manifests)
      summary.variants.push_back(cpuOf(manifest).str());
  Expected<json::Object> chosen = choose(std::move(manifests), path, variant);
  if (!chosen)
    return chosen.takeError();
  summary.manifest = std::move(*chosen);
  return summary;
}

bool looksCompiled(StringRef path) {
  auto start = MemoryBuffer::getFileSlice(path, 4, 0);
  return start && (*start)->getBuffer() == "\x7f"
                                           "ELF";
}

} // namespace fathom
