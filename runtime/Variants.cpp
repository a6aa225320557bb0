// Which of an artifact's variants this CPU can run.
#include "ArtifactFile.h"
#include "CpuFeatures.h"
#include "Status.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>

using namespace fathom;

namespace {

constexpr int64_t MaxVariants = 1024;

// A text of limited length, for messages.
class Words {
public:
  __attribute__((format(printf, 2, 3))) void add(const char *Format, ...) {
    if (Length >= sizeof(Text))
      return;
    va_list Arguments;
    va_start(Arguments, Format);
    Length += size_t(std::max(vsnprintf(Text + Length, sizeof(Text) - Length, Format, Arguments), 0));
    va_end(Arguments);
  }
  const char *text() const { return Text; }

private:
  char Text[1024] = "";
  size_t Length = 0;
};

// Tells of the features that are not there; whether all are.
bool hasFeatures(const fathom_artifact &Artifact, Words &Missing) {
  bool HasAll = true;
  for (uint32_t I = 0; I < Artifact.feature_count; ++I) {
    const char *Name = Artifact.features[I];
    Feature State = cpuFeature(Name);
    if (State == Feature::Present)
      continue;
    Missing.add("%s%s%s", HasAll ? "" : ", ", Name, State == Feature::Unknown ? " (unknown to this runtime)" : "");
    HasAll = false;
  }
  return HasAll;
}

fathom_status *lacksFeatures(const char *Path, const Words &Missing) {
  return makeStatus(FATHOM_ERROR_UNSUPPORTED_CPU, "'%s' needs CPU features that this machine lacks: %s", Path,
                    Missing.text());
}

fathom_status *checkVariant(const char *Path, const fathom_abi_variant &Variant, const fathom_artifact &Artifact,
                            const fathom_artifact &Exported) {
  if (!Variant.name || Artifact.magic != FATHOM_ABI_MAGIC || Artifact.abi_version != Exported.abi_version)
    return makeStatus(FATHOM_ERROR_FORMAT, "'%s' has a broken table: the code for a CPU has no name or no table", Path);
  if (fathom_status *Status = checkTable(Path, Artifact))
    return Status;
  if (Artifact.input_count != Exported.input_count || Artifact.output_count != Exported.output_count)
    return makeStatus(FATHOM_ERROR_FORMAT, "'%s' has a broken table: its code for %s takes other inputs or outputs",
                      Path, Variant.name);
  return nullptr;
}

} // namespace

fathom_status *fathom::takeVariant(const char *Path, const fathom_artifact **Artifact, const char **Name) {
  const fathom_artifact &Exported = **Artifact;
  int64_t Count = Exported.abi_version >= 9 ? Exported.variant_count : 0;
  Words Missing;
  *Name = "";
  if (!Count)
    return hasFeatures(Exported, Missing) ? nullptr : lacksFeatures(Path, Missing);
  if (Count < 0 || Count > MaxVariants || !Exported.variants)
    return makeStatus(FATHOM_ERROR_FORMAT, "'%s' has a broken table: its variants are missing or too many", Path);
  for (int64_t I = 0; I < Count; ++I) {
    const fathom_abi_variant &Variant = Exported.variants[I];
    const fathom_artifact &Table = Variant.artifact ? *Variant.artifact : Exported;
    if (fathom_status *Status = checkVariant(Path, Variant, Table, Exported))
      return Status;
    Missing.add("%s", I ? "; " : "");
    if (hasFeatures(Table, Missing)) {
      *Artifact = &Table, *Name = Variant.name;
      return nullptr;
    }
    Missing.add(" for %s", Variant.name);
  }
  return lacksFeatures(Path, Missing);
}
