// The checks of sizes; every message names the tensor, the dimension, what was given and what was expected.
#include "Shapes.h"

#include "DType.h"
#include "Status.h"

#include <cstdio>
#include <cstring>

using namespace fathom;

namespace {

using Long = long long;

const char *name(Role R) { return R == Role::Input ? "input" : "output"; }

// The input that gives a symbol its value: the first that has it as a dimension.
const char *binderOf(const fathom_artifact &Artifact, int64_t Symbol) {
  for (uint32_t I = 0; I < Artifact.input_count; ++I)
    for (int32_t D = 0; D < Artifact.inputs[I].rank; ++D)
      if (Artifact.inputs[I].dims[D] == -(1 + Symbol))
        return Artifact.inputs[I].name;
  return "";
}

fathom_status *outOfRange(const fathom_abi_tensor &Tensor, int32_t D, int64_t Given, const fathom_abi_symbol &Symbol) {
  char Range[64];
  if (Symbol.max == INT64_MAX)
    snprintf(Range, sizeof(Range), "%lld or more", Long(Symbol.min));
  else if (Symbol.min == Symbol.max)
    snprintf(Range, sizeof(Range), "%lld", Long(Symbol.min));
  else
    snprintf(Range, sizeof(Range), "%lld to %lld", Long(Symbol.min), Long(Symbol.max));
  return makeStatus(FATHOM_ERROR_SHAPE, "input '%s' dimension %d ('%s'): got %lld, compiled for %s", Tensor.name, D,
                    Symbol.name, Long(Given), Range);
}

// Whether a message has a name as a word of its own.
bool mentions(const char *Message, const char *Name) {
  auto IsPart = [](char C) {
    return C == '_' || C == '.' || (C >= '0' && C <= '9') || (C >= 'a' && C <= 'z') || (C >= 'A' && C <= 'Z');
  };
  size_t Length = strlen(Name);
  for (const char *Found = Message; Length && (Found = strstr(Found, Name)); ++Found)
    if ((Found == Message || !IsPart(Found[-1])) && !IsPart(Found[Length]))
      return true;
  return false;
}

} // namespace

void fathom::spellSymbols(const fathom_artifact &Artifact, const int64_t *Symbols, const char *Message, char *Text,
                          size_t Room) {
  Text[0] = 0;
  size_t Used = 0;
  for (uint32_t I = 0; I < Artifact.symbol_count; ++I) {
    const char *Name = Artifact.symbols[I].name;
    if (!mentions(Message, Name))
      continue;
    int Length = snprintf(Text + Used, Room - Used, "%s%s = %lld", Used ? ", " : " for ", Name, Long(Symbols[I]));
    if (Length < 0 || Used + size_t(Length) >= Room) {
      Text[Used] = 0;
      return;
    }
    Used += size_t(Length);
  }
}

fathom_status *fathom::bindInput(const fathom_artifact &Artifact, uint32_t Input, const int64_t *Dims,
                                 int64_t *Symbols) {
  const fathom_abi_tensor &Tensor = Artifact.inputs[Input];
  for (int32_t D = 0; D < Tensor.rank; ++D) {
    int64_t Expected = Tensor.dims[D], Given = Dims[D];
    if (Expected >= 0) {
      if (Given != Expected)
        return makeStatus(FATHOM_ERROR_SHAPE, "input '%s' dimension %d: got %lld, compiled for %lld", Tensor.name, D,
                          Long(Given), Long(Expected));
      continue;
    }
    int64_t Index = -(Expected + 1);
    const fathom_abi_symbol &Symbol = Artifact.symbols[Index];
    int64_t &Value = Symbols[Index];
    if (Value != Unbound && Value != Given)
      return makeStatus(FATHOM_ERROR_SHAPE,
                        "input '%s' dimension %d ('%s'): got %lld, but '%s' is %lld from input '%s'", Tensor.name, D,
                        Symbol.name, Long(Given), Symbol.name, Long(Value), binderOf(Artifact, Index));
    if (Given < Symbol.min || Given > Symbol.max)
      return outOfRange(Tensor, D, Given, Symbol);
    Value = Given;
  }
  return nullptr;
}

bool fathom::tensorBytes(int32_t DType, int32_t Rank, const int64_t *Dims, size_t &Bytes) {
  int64_t Total = int64_t(fathom_dtype_bytes(DType));
  bool Overflows = false;
  for (int32_t D = 0; D < Rank; ++D) {
    // No elements means no bytes, however large the other dimensions are.
    if (Dims[D] == 0) {
      Bytes = 0;
      return true;
    }
    Overflows |= __builtin_mul_overflow(Total, Dims[D], &Total);
  }
  Bytes = size_t(Total);
  return !Overflows;
}

fathom_status *fathom::checkKind(Role R, const fathom_abi_tensor &Expected, const fathom_tensor &Given) {
  if (Given.dtype != Expected.dtype) {
    char Number[32];
    const DTypeInfo *Info = findDType(Given.dtype);
    snprintf(Number, sizeof(Number), "data type %d", int(Given.dtype));
    return makeStatus(FATHOM_ERROR_INVALID_ARGUMENT, "%s '%s': got %s, compiled for %s", name(R), Expected.name,
                      Info ? Info->Name : Number, fathom_dtype_name(Expected.dtype));
  }
  if (Given.rank != Expected.rank)
    return makeStatus(FATHOM_ERROR_SHAPE, "%s '%s': got %d dimensions, compiled for %d", name(R), Expected.name,
                      int(Given.rank), int(Expected.rank));
  if (!Given.dims && Given.rank > 0 && R == Role::Input)
    return makeStatus(FATHOM_ERROR_INVALID_ARGUMENT, "input '%s': dims is null", Expected.name);
  return nullptr;
}

fathom_status *fathom::checkBuffer(Role R, const fathom_abi_tensor &Expected, const fathom_tensor &Given,
                                   const int64_t *Dims) {
  size_t Needed;
  if (!tensorBytes(Expected.dtype, Expected.rank, Dims, Needed))
    return makeStatus(FATHOM_ERROR_SHAPE, "%s '%s': its size in bytes overflows", name(R), Expected.name);
  if (Given.bytes < Needed)
    return makeStatus(FATHOM_ERROR_INVALID_ARGUMENT, "%s '%s': the buffer has %zu bytes, %zu are needed", name(R),
                      Expected.name, Given.bytes, Needed);
  if (Needed && !Given.data)
    return makeStatus(FATHOM_ERROR_INVALID_ARGUMENT, "%s '%s': data is null, %zu bytes are needed", name(R),
                      Expected.name, Needed);
  if (reinterpret_cast<uintptr_t>(Given.data) % fathom_dtype_bytes(Expected.dtype))
    return makeStatus(FATHOM_ERROR_INVALID_ARGUMENT, "%s '%s': data is not aligned to %zu bytes", name(R),
                      Expected.name, fathom_dtype_bytes(Expected.dtype));
  return nullptr;
}

fathom_status *fathom::checkOutputDims(const fathom_abi_tensor &Expected, const int64_t *Computed,
                                       const int64_t *Given) {
  for (int32_t D = 0; D < Expected.rank; ++D) {
    // Unknown before the run.
    if (Expected.dims[D] == -2 && Computed[D] == -1)
      continue;
    if (Computed[D] < 0 && Expected.dims[D] == -1)
      return makeStatus(FATHOM_ERROR_SHAPE, "output '%s' dimension %d would be %lld for inputs of these sizes",
                        Expected.name, D, Long(Computed[D]));
    if (Computed[D] < 0 || (Expected.dims[D] >= 0 && Expected.dims[D] != Computed[D]))
      return makeStatus(FATHOM_ERROR_INTERNAL, "output '%s' dimension %d: planned as %lld, compiled as %lld",
                        Expected.name, D, Long(Computed[D]), Long(Expected.dims[D]));
    if (Given && Given[D] != Computed[D])
      return makeStatus(FATHOM_ERROR_SHAPE, "output '%s' dimension %d: got %lld, the model gives %lld", Expected.name,
                        D, Long(Given[D]), Long(Computed[D]));
  }
  return nullptr;
}
