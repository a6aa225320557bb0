// Element types by the names that programs call them, which are NumPy's, and by ONNX's numbers.
#pragma once

#include "llvm/ADT/StringRef.h"
#include <optional>

namespace fathom::functional {

enum class ElementType : int {
  Float32 = 1,
  UInt8 = 2,
  Int8 = 3,
  UInt16 = 4,
  Int16 = 5,
  Int32 = 6,
  Int64 = 7,
  Bool = 9,
  Float16 = 10,
  Float64 = 11,
  UInt32 = 12,
  UInt64 = 13,
  BFloat16 = 16,
};

struct ElementName {
  ElementType type;
  llvm::StringLiteral name, suffix; // "float32", and "f32" behind a number
};
inline constexpr ElementName elementNames[] = {
    {ElementType::Float32, "float32", "f32"},    {ElementType::UInt8, "uint8", "u8"},
    {ElementType::Int8, "int8", "i8"},           {ElementType::UInt16, "uint16", "u16"},
    {ElementType::Int16, "int16", "i16"},        {ElementType::Int32, "int32", "i32"},
    {ElementType::Int64, "int64", "i64"},        {ElementType::Bool, "bool", ""},
    {ElementType::Float16, "float16", "f16"},    {ElementType::Float64, "float64", "f64"},
    {ElementType::UInt32, "uint32", "u32"},      {ElementType::UInt64, "uint64", "u64"},
    {ElementType::BFloat16, "bfloat16", "bf16"},
};

inline std::optional<ElementType> elementNamed(llvm::StringRef name) {
  for (const ElementName &entry : elementNames)
    if (entry.name == name)
      return entry.type;
  return std::nullopt;
}
inline std::optional<ElementType> elementOfSuffix(llvm::StringRef suffix) {
  for (const ElementName &entry : elementNames)
    if (!entry.suffix.empty() && entry.suffix == suffix)
      return entry.type;
  return std::nullopt;
}
inline const ElementName &nameOf(ElementType type) {
  for (const ElementName &entry : elementNames)
    if (entry.type == type)
      return entry;
  return elementNames[0];
}
inline bool isFloat(ElementType type) {
  return type == ElementType::Float32 || type == ElementType::Float16 || type == ElementType::Float64 ||
         type == ElementType::BFloat16;
}

} // namespace fathom::functional
