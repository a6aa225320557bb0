// One table of element types, sizes both ways, and attributes: those that programs can write are written so, others as
// MLIR's text.
#include "compiler/passes/normalform/Words.h"

#include "compiler/graph/SizeMath.h"
#include "compiler/import/read/ElementTypes.h"
#include "mlir/AsmParser/AsmParser.h"
#include "llvm/ADT/StringSet.h"
#include <cmath>

using namespace mlir;
using namespace fathom::functional;

namespace fathom::normalform {
namespace {

// In front of what is MLIR's text.
constexpr char ownText = '#';
// More elements are easier to read as a weight.
constexpr int64_t largestLiteral = 32;

std::optional<ElementType> elementOf(mlir::Type type) {
  for (const ElementName &entry : elementNames)
    if (importer::elementTypeFor(int(entry.type), type.getContext()) == type)
      return entry.type;
  return std::nullopt;
}

bool isWord(StringRef text) {
  return !text.empty() && llvm::isLower(text.front()) &&
         llvm::all_of(text, [](char c) { return llvm::isAlnum(c) || c == '_'; });
}

// A symbol's name, where it is one that programs can have.
std::string wordFor(unsigned position, const graph::SymbolList &symbols) {
  std::string numbered = "s" + std::to_string(position);
  if (position >= symbols.size() || !isWord(symbols[position].name) || StringRef(symbols[position].name).front() == 's')
    return numbered;
  for (unsigned before = 0; before < position; ++before)
    if (symbols[before].name == symbols[position].name)
      return numbered;
  return symbols[position].name;
}

class SizeWriter {
public:
  SizeWriter(Program &program, const graph::SymbolList &symbols) : program(program), symbols(symbols) {}

  SizeExpr *write(AffineExpr size) {
    if (auto constant = dyn_cast<AffineConstantExpr>(size)) {
      SizeExpr *number = program.make<SizeExpr>(SizeExpr::Number, {});
      number->number = std::abs(constant.getValue());
      return constant.getValue() < 0 ? join(SizeExpr::Sub, write(getAffineConstantExpr(0, size.getContext())), number)
                                     : number;
    }
    if (auto symbol = dyn_cast<AffineSymbolExpr>(size)) {
      SizeExpr *made = program.make<SizeExpr>(SizeExpr::Symbol, {});
      made->name = wordFor(symbol.getPosition(), symbols);
      return made;
    }
    auto both = dyn_cast<AffineBinaryOpExpr>(size);
    std::optional<SizeExpr::Kind> kind;
    if (size.getKind() == AffineExprKind::Add)
      kind = SizeExpr::Add;
    if (size.getKind() == AffineExprKind::Mul)
      kind = SizeExpr::Mul;
    if (size.getKind() == AffineExprKind::FloorDiv)
      kind = SizeExpr::Div;
    return both && kind ? join(*kind, write(both.getLHS()), write(both.getRHS())) : nullptr;
  }

private:
  SizeExpr *join(SizeExpr::Kind kind, SizeExpr *left, SizeExpr *right) {
    if (!left || !right)
      return nullptr;
    SizeExpr *made = program.make<SizeExpr>(kind, {});
    made->left = left, made->right = right;
    return made;
  }

  Program &program;
  const graph::SymbolList &symbols;
};

// Null where there is no such size.
AffineExpr sizeOf(const SizeExpr &size, const graph::SymbolList &symbols, MLIRContext *context) {
  using namespace graph::size;
  if (size.kind == SizeExpr::Number)
    return getAffineConstantExpr(size.number, context);
  if (size.kind == SizeExpr::Symbol) {
    for (unsigned position = 0; position < symbols.size(); ++position)
      if (wordFor(position, symbols) == size.name)
        return getAffineSymbolExpr(position, context);
    return {};
  }
  if (size.kind == SizeExpr::Any)
    return {};
  AffineExpr left = sizeOf(*size.left, symbols, context), right = sizeOf(*size.right, symbols, context);
  if (!left || !right)
    return {};
  switch (size.kind) {
  case SizeExpr::Add:
    return add(left, right);
  case SizeExpr::Sub:
    return sub(left, right);
  case SizeExpr::Mul:
    return mul(left, right);
  default:
    return lowerBound(right, symbols).value_or(0) > 0 ? floorDiv(left, right) : AffineExpr();
  }
}

} // namespace

std::string Names::fresh(StringRef wanted) {
  static const llvm::StringSet<> meant = {"else",  "false", "fn",  "if",   "inf",  "let",    "main",
                                          "match", "nan",   "ref", "true", "type", "within", weightsName};
  std::string base;
  for (char c : wanted)
    if (llvm::isAlnum(c))
      base += c;
    else if (!base.empty() && base.back() != '_')
      base += '_';
  if (base.empty() || !llvm::isAlpha(base.front()))
    base = "v" + base;
  base.front() = llvm::toLower(base.front());
  // Names that begin so may be numbers.
  if (meant.contains(base) || StringRef(base).starts_with("inf") || StringRef(base).starts_with("nan"))
    base = "v_" + base;
  std::string name = base;
  while (!taken.insert(name).second)
    name = base + "_" + std::to_string(++numbers[base]);
  return name;
}

TypeExpr *describe(RankedTensorType type, const graph::SymbolList &symbols, Program &program) {
  std::optional<ElementType> element = elementOf(type.getElementType());
  if (!element)
    return nullptr;
  TypeExpr *named = program.make<TypeExpr>(TypeExpr::Named, {});
  named->name = nameOf(*element).name.str();
  TypeExpr *made = program.make<TypeExpr>(TypeExpr::Tensor, {});
  made->parts = {named};
  SizeWriter writer(program, symbols);
  for (AffineExpr size : graph::sizesOf(type))
    if (!made->sizes.emplace_back(writer.write(size)))
      return nullptr;
  return made;
}

RankedTensorType typeOf(const TypeExpr &type, const graph::SymbolList &symbols, MLIRContext *context) {
  const TypeExpr &named = type.kind == TypeExpr::Tensor ? *type.parts[0] : type;
  std::optional<ElementType> element = elementNamed(named.name);
  if (named.kind != TypeExpr::Named || !element)
    return {};
  graph::Sizes sizes;
  for (const SizeExpr *size : type.sizes)
    if (!sizes.emplace_back(sizeOf(*size, symbols, context)))
      return {};
  return graph::tensorOf(sizes, importer::elementTypeFor(int(*element), context));
}

std::optional<functional::Attribute> describe(NamedAttribute named) {
  functional::Attribute made;
  made.name = named.getName().str();
  // A point in an attribute's name would be that of an element.
  std::replace(made.name.begin(), made.name.end(), '.', '_');
  mlir::Attribute value = named.getValue();
  if (auto number = dyn_cast<IntegerAttr>(value); number && number.getType().isSignlessInteger(64)) {
    made.kind = functional::Attribute::Int, made.ints = {number.getInt()};
    return made;
  }
  if (auto number = dyn_cast<FloatAttr>(value); number && number.getType().isF32() && number.getValue().isFinite()) {
    made.kind = functional::Attribute::Float, made.floats = {number.getValueAsDouble()};
    return made;
  }
  if (auto numbers = dyn_cast<DenseI64ArrayAttr>(value)) {
    made.kind = functional::Attribute::Ints, made.ints = numbers.asArrayRef().vec();
    return made;
  }
  if (auto type = dyn_cast<TypeAttr>(value))
    if (std::optional<ElementType> element = elementOf(type.getValue())) {
      made.kind = functional::Attribute::Element, made.ints = {int64_t(*element)};
      return made;
    }
  made.kind = functional::Attribute::String;
  if (auto text = dyn_cast<StringAttr>(value); text && !text.getValue().starts_with(StringRef(&ownText, 1))) {
    made.strings = {text.str()};
  } else {
    made.strings.emplace_back(1, ownText);
    llvm::raw_string_ostream(made.strings.back()) << value;
  }
  if (StringRef(made.strings[0]).find_first_of("\"\n") != StringRef::npos)
    return std::nullopt;
  return made;
}

NamedAttribute attributeOf(const functional::Attribute &attribute, MLIRContext *context) {
  Builder b(context);
  std::string name = attribute.name;
  if (StringRef(name).starts_with("graph_"))
    name[strlen("graph")] = '.';
  auto named = [&](mlir::Attribute value) { return NamedAttribute(b.getStringAttr(name), value); };
  switch (attribute.kind) {
  case functional::Attribute::Int:
    return named(b.getI64IntegerAttr(attribute.ints[0]));
  case functional::Attribute::Float:
    return named(b.getF32FloatAttr(attribute.floats[0]));
  case functional::Attribute::Ints:
    return named(b.getDenseI64ArrayAttr(attribute.ints));
  case functional::Attribute::Element:
    return named(TypeAttr::get(importer::elementTypeFor(int(attribute.ints[0]), context)));
  case functional::Attribute::Floats:
  case functional::Attribute::Strings:
    return NamedAttribute(b.getStringAttr(name), b.getUnitAttr());
  case functional::Attribute::String:
    break;
  }
  StringRef text = attribute.strings[0];
  if (!text.consume_front(StringRef(&ownText, 1)))
    return named(b.getStringAttr(text));
  // What is wrong with the text is told by who asked.
  ScopedDiagnosticHandler silent(context, [](Diagnostic &) { return success(); });
  mlir::Attribute value = parseAttribute(text, context);
  return named(value ? value : b.getUnitAttr());
}

std::optional<Literal> describe(ElementsAttr value) {
  auto dense = dyn_cast<DenseElementsAttr>(value);
  std::optional<ElementType> element = elementOf(value.getElementType());
  if (!dense || !element || *element == ElementType::UInt64 || dense.getNumElements() == 0 ||
      dense.getNumElements() > largestLiteral)
    return std::nullopt;
  Literal literal;
  literal.element = *element;
  llvm::append_range(literal.dims, dense.getType().getShape());
  if (!isFloat(*element)) {
    for (const APInt &number : dense.getValues<APInt>())
      literal.integers.push_back(*element == ElementType::Bool || value.getElementType().isUnsignedInteger()
                                     ? int64_t(number.getZExtValue())
                                     : number.getSExtValue());
    return literal;
  }
  if (*element != ElementType::Float32 && *element != ElementType::Float64)
    return std::nullopt;
  for (const APFloat &number : dense.getValues<APFloat>()) {
    if (!number.isFinite())
      return std::nullopt;
    literal.floats.push_back(number.convertToDouble());
  }
  return literal;
}

DenseElementsAttr valueOf(const Literal &literal, MLIRContext *context) {
  mlir::Type element = importer::elementTypeFor(int(literal.element), context);
  auto type = RankedTensorType::get(literal.dims, element);
  if (!isFloat(literal.element)) {
    auto numbers = llvm::map_to_vector(literal.integers, [&](int64_t number) {
      return APInt(element.getIntOrFloatBitWidth(), uint64_t(number), /*isSigned=*/false, /*implicitTrunc=*/true);
    });
    return DenseElementsAttr::get(type, ArrayRef<APInt>(numbers));
  }
  auto numbers = llvm::map_to_vector(literal.floats, [&](double number) {
    APFloat value(number);
    bool losesInfo;
    value.convert(cast<FloatType>(element).getFloatSemantics(), APFloat::rmNearestTiesToEven, &losesInfo);
    return value;
  });
  return DenseElementsAttr::get(type, ArrayRef<APFloat>(numbers));
}

} // namespace fathom::normalform
