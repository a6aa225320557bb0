// The artifact as an ELF file: sections and the manifest in one of them.
#include "tools/fathom/run/ArtifactReader.h"

#include "tools/fathom/Terminal.h"
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

Expected<ArtifactSummary> readArtifact(StringRef path) {
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
  bool found = false;
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
    Expected<json::Value> value = json::parse(contents->split('\0').first);
    if (!value)
      return notAnArtifact(path, "its manifest is damaged: " + toString(value.takeError()));
    if (json::Object *manifest = value->getAsObject())
      summary.manifest = std::move(*manifest), found = true;
  }
  if (!found)
    return notAnArtifact(path, "it has no manifest");
  return summary;
}

bool looksCompiled(StringRef path) {
  auto start = MemoryBuffer::getFileSlice(path, 4, 0);
  return start && (*start)->getBuffer() == "\x7f"
                                           "ELF";
}

} // namespace fathom
