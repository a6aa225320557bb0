// Prints programs in the one form that the examples have: two spaces a level, a statement a line.
#include "compiler/functional/syntax/Printer.h"

#include "compiler/functional/syntax/Infix.h"
#include "compiler/functional/syntax/Literals.h"

using namespace llvm;

namespace fathom::functional {
namespace {

class Printer {
public:
  explicit Printer(raw_ostream &out) : out(out) {}

  void print(const DataType &type) {
    out << "type " << type.name;
    printNames(type.parameters);
    out << " {\n";
    for (const Constructor &constructor : type.constructors) {
      out << "  " << constructor.name;
      if (!constructor.fields.empty())
        list("(", constructor.fields, ")", [&](const TypeExpr *field) { print(*field); });
      out << ",\n";
    }
    out << "}\n";
  }

  void print(const Function &function) {
    out << "fn";
    if (!function.name.empty())
      out << " " << function.name;
    printNames(function.typeParameters);
    list("(", function.parameters, ")", [&](const Parameter &parameter) {
      out << parameter.name;
      if (parameter.type)
        out << ": ", print(*parameter.type);
    });
    if (function.result)
      out << " -> ", print(*function.result);
    if (function.within)
      out << " within " << function.within;
    out << " ";
    printBlock(*function.body);
  }

  void print(const TypeExpr &type) {
    auto part = [&](const TypeExpr *part) { print(*part); };
    switch (type.kind) {
    case TypeExpr::Named:
      out << type.name;
      if (!type.parts.empty())
        list("<", type.parts, ">", part);
      break;
    case TypeExpr::Tensor:
      out << "Tensor[";
      list("(", type.sizes, ")", [&](const SizeExpr *size) { print(*size, 0); });
      out << ", ", print(*type.parts[0]), out << "]";
      break;
    case TypeExpr::Tuple:
      list("(", type.parts, ")", part);
      break;
    case TypeExpr::Function:
      out << "fn";
      list("(", ArrayRef(type.parts).drop_back(), ")", part);
      out << " -> ", print(*type.parts.back());
      break;
    case TypeExpr::Ref:
      out << "ref<", print(*type.parts[0]), out << ">";
      break;
    }
  }

private:
  template <typename List, typename F> void list(StringRef begin, const List &elements, StringRef end, F element) {
    out << begin;
    interleave(elements, element, [&] { out << ", "; });
    out << end;
  }
  void printNames(const std::vector<std::string> &names) {
    if (!names.empty())
      list("<", names, ">", [&](const std::string &name) { out << name; });
  }
  raw_ostream &line() { return out << "\n" << std::string(2 * indent, ' '); }

  void print(const SizeExpr &size, int level) {
    auto infix = [&](StringRef mark, int its) {
      out << (its < level ? "(" : "");
      print(*size.left, its), out << " " << mark << " ", print(*size.right, its + 1);
      out << (its < level ? ")" : "");
    };
    switch (size.kind) {
    case SizeExpr::Number:
      out << size.number;
      break;
    case SizeExpr::Symbol:
      out << size.name;
      break;
    case SizeExpr::Any:
      out << "?";
      break;
    case SizeExpr::Add:
      return infix("+", 0);
    case SizeExpr::Sub:
      return infix("-", 0);
    case SizeExpr::Mul:
      return infix("*", 1);
    case SizeExpr::Div:
      return infix("/", 1);
    }
  }

  void print(const Pattern &pattern) {
    switch (pattern.kind) {
    case Pattern::Any:
      out << "_";
      break;
    case Pattern::Name:
      out << pattern.name;
      break;
    case Pattern::Constructor:
    case Pattern::Tuple:
      out << pattern.name;
      if (pattern.kind == Pattern::Tuple || !pattern.parts.empty())
        list("(", pattern.parts, ")", [&](const Pattern *part) { print(*part); });
      break;
    }
  }

  // A block, or an expression that stands where one has to.
  void printBlock(const Expr &expr) {
    out << "{";
    ++indent;
    if (expr.kind == Expr::Block) {
      for (const Let &let : expr.lets)
        printLet(let);
      line(), print(*expr.parts[0], 0);
    } else {
      line(), print(expr, 0);
    }
    --indent;
    line() << "}";
  }
  void printLet(const Let &let) {
    line();
    if (!let.pattern)
      return print(*let.value->function);
    out << "let ", print(*let.pattern);
    if (let.type)
      out << ": ", print(*let.type);
    out << " = ", print(*let.value, 0), out << ";";
  }

  // `level` is that of what is around: below it an infix needs parentheses.
  void print(const Expr &expr, int level) {
    auto part = [&](const Expr *part) {
      if (part)
        print(*part, 0);
      else
        out << "_";
    };
    // What is not an operand needs parentheses as one.
    auto wrapped = [&](int its, auto inside) {
      out << (its < level ? "(" : "");
      inside();
      out << (its < level ? ")" : "");
    };
    switch (expr.kind) {
    case Expr::Var:
      out << expr.name;
      break;
    case Expr::Constant:
      // Behind a number, the point of a tuple's element would be that of a fraction.
      wrapped(prefixLevel, [&] { out << spell(expr.literal); });
      break;
    case Expr::Tuple:
      list("(", expr.parts, expr.parts.size() == 1 ? ",)" : ")", part);
      break;
    case Expr::Project:
      print(*expr.parts[0], operandLevel), out << "." << expr.index;
      break;
    case Expr::Block:
      printBlock(expr);
      break;
    case Expr::If:
      out << "if ", print(*expr.parts[0], 0), out << " ", printBlock(*expr.parts[1]);
      out << " else ";
      expr.parts[2]->kind == Expr::If ? print(*expr.parts[2], operandLevel) : printBlock(*expr.parts[2]);
      break;
    case Expr::Match:
      out << "match ", print(*expr.parts[0], 0), out << " {";
      ++indent;
      for (const Arm &arm : expr.arms)
        line(), print(*arm.pattern), out << " => ", print(*arm.body, 0), out << ",";
      --indent;
      line() << "}";
      break;
    case Expr::Lambda:
      print(*expr.function);
      break;
    case Expr::Call:
      print(*expr.parts[0], operandLevel);
      list("(", ArrayRef(expr.parts).drop_front(), ")", part);
      break;
    case Expr::Op:
      printOp(expr, level);
      break;
    case Expr::NewRef:
      list("ref(", expr.parts, ")", part);
      break;
    case Expr::Deref:
      wrapped(prefixLevel, [&] { out << "*", print(*expr.parts[0], prefixLevel); });
      break;
    case Expr::Assign:
      wrapped(0, [&] { print(*expr.parts[0], 1), out << " := ", print(*expr.parts[1], 0); });
      break;
    }
  }
  void printOp(const Expr &op, int level) {
    const Infix *infix = infixOf(op.name);
    bool isPlain = op.attributes.empty() && op.index == 1 && !is_contained(op.parts, nullptr);
    if (infix && isPlain && op.parts.size() == 2) {
      out << (infix->level < level ? "(" : "");
      print(*op.parts[0], infix->level), out << " " << infix->mark << " ", print(*op.parts[1], infix->level + 1);
      out << (infix->level < level ? ")" : "");
      return;
    }
    bool isName = isCapital(op.name) && all_of(op.name, [](char c) { return isAlnum(c) || c == '_'; });
    out << (isName ? op.name : "\"" + op.name + "\"") << "(";
    ListSeparator comma;
    for (const Expr *part : op.parts) {
      out << comma;
      if (part)
        print(*part, 0);
      else
        out << "_";
    }
    for (const Attribute &attribute : op.attributes)
      out << comma << attribute.name << "=", printValue(attribute);
    if (op.index != 1)
      out << comma << "outputs=" << op.index;
    out << ")";
  }
  void printValue(const Attribute &attribute) {
    auto number = [&](double value) { out << spellFloat(value, /*isDouble=*/false); };
    auto quoted = [&](const std::string &text) { out << '"' << text << '"'; };
    auto whole = [&](int64_t value) { out << value; };
    switch (attribute.kind) {
    case Attribute::Int:
      return whole(attribute.ints[0]);
    case Attribute::Float:
      return number(attribute.floats[0]);
    case Attribute::String:
      return quoted(attribute.strings[0]);
    case Attribute::Element:
      out << nameOf(ElementType(attribute.ints[0])).name;
      return;
    case Attribute::Ints:
      return list("[", attribute.ints, "]", whole);
    case Attribute::Floats:
      return list("[", attribute.floats, "]", number);
    case Attribute::Strings:
      return list("[", attribute.strings, "]", quoted);
    }
  }

  raw_ostream &out;
  unsigned indent = 0;
};

} // namespace

void print(const Program &program, raw_ostream &out) {
  Printer printer(out);
  ListSeparator empty("\n");
  for (const DataType &type : program.types)
    out << empty, printer.print(type);
  for (const Function *function : program.functions)
    out << empty, printer.print(*function), out << "\n";
}

std::string spell(const TypeExpr &type) {
  std::string text;
  raw_string_ostream out(text);
  Printer(out).print(type);
  return text;
}

} // namespace fathom::functional
