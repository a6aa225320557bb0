// Sizes and types in messages: symbols by their names (those of computed ones are not the model's, and not shown),
// element types by NumPy's.
#include "compiler/graph/TypeText.h"
#include "compiler/graph/SmallTypes.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace fathom::graph {

std::string elementText(Type element) {
  if (element.isBF16())
    return "bfloat16";
  if (isString(element))
    return "string";
  if (isSmall(element))
    return smallTypeName(element).str();
  std::string width = std::to_string(element.getIntOrFloatBitWidth());
  if (isa<FloatType>(element))
    return "float" + width;
  if (element.isSignlessInteger(1))
    return "bool";
  return (element.isUnsignedInteger() ? "uint" : "int") + width;
}

static void print(raw_ostream &os, AffineExpr size, const SymbolList &symbols) {
  if (!size) {
    os << "?";
    return;
  }
  std::string plain;
  llvm::raw_string_ostream(plain) << size;
  // A symbol prints as s and its number; everything else is digits, signs and lower-case words without that pattern.
  for (StringRef rest = plain; !rest.empty();) {
    size_t digits = rest.front() == 's' ? rest.drop_front().take_while(llvm::isDigit).size() : 0;
    unsigned position = 0;
    if (digits && !rest.substr(1, digits).getAsInteger(10, position) && position < symbols.size() &&
        !symbols[position].name.empty())
      os << (symbols[position].isComputed ? "?" : symbols[position].name);
    else
      os << rest.take_front(1 + digits);
    rest = rest.drop_front(1 + digits);
  }
}

std::string sizeText(AffineExpr size, const SymbolList &symbols) {
  std::string result;
  llvm::raw_string_ostream os(result);
  print(os, size, symbols);
  return result;
}

std::string sizesText(ArrayRef<AffineExpr> sizes, const SymbolList &symbols) {
  std::string result;
  llvm::raw_string_ostream os(result);
  os << '[';
  llvm::interleaveComma(sizes, os, [&](AffineExpr size) { print(os, size, symbols); });
  os << ']';
  return result;
}

std::string typeText(RankedTensorType type, const SymbolList &symbols) {
  return elementText(type.getElementType()) + sizesText(sizesOf(type), symbols);
}

} // namespace fathom::graph
