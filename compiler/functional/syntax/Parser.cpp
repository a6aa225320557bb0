// A recursive-descent parser. The first problem ends it; nesting is bounded, so that no text exhausts the stack.
#include "compiler/functional/syntax/Parser.h"

#include "compiler/functional/syntax/Codes.h"
#include "compiler/functional/syntax/Infix.h"
#include "compiler/functional/syntax/Lexer.h"
#include "compiler/functional/syntax/Literals.h"
#include "compiler/functional/syntax/Walk.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace llvm;

namespace fathom::functional {
namespace {

constexpr StringLiteral keywords[] = {"fn", "type", "let", "if", "else", "match", "ref", "true", "false", "inf", "nan"};

class Parser {
public:
  Parser(StringRef text, const Source &source)
      : source(source), lexer(text), program(std::make_unique<Program>()), token(lexer.next()), ahead(lexer.next()) {}

  std::unique_ptr<Program> run() {
    while (!failed && token.kind != Token::End)
      if (isName("type"))
        parseDataType();
      else if (isName("fn"))
        program->functions.push_back(parseFunction(/*needsName=*/true));
      else
        fail("expected 'fn' or 'type'");
    for (Expr *op : ops)
      if (constructors.contains(op->name))
        makeConstruction(*op);
    return failed ? nullptr : std::move(program);
  }

private:
  // Words.
  void advance() { token = std::exchange(ahead, lexer.next()); }
  bool isMark(StringRef mark) const { return token.kind == Token::Mark && token.text == mark; }
  bool isName(StringRef name) const { return token.kind == Token::Name && token.text == name; }
  bool take(StringRef text) {
    bool isIt = isMark(text) || isName(text);
    if (isIt)
      advance();
    return isIt;
  }
  // Nothing is reported but the first problem, and no more words are read.
  void fail(const Twine &expected, Place place = {}) {
    if (failed)
      return;
    failed = true;
    auto error = source.error(place ? place : token.place, badSyntax);
    if (place)
      error << expected;
    else if (token.kind == Token::Wrong)
      error << token.text;
    else
      error << expected
            << (token.kind == Token::End ? Twine(" instead of the end") : " instead of '" + token.text + "'");
    token = ahead = {Token::End, "", token.place};
  }
  bool expect(StringRef text) {
    if (take(text))
      return true;
    fail("expected '" + text + "'");
    return false;
  }
  std::string expectName(const Twine &what) {
    bool isOne = token.kind == Token::Name && !is_contained(keywords, token.text) && token.text != "_";
    std::string name = isOne ? token.text.str() : "";
    isOne ? advance() : fail("expected " + what);
    return name;
  }
  // Elements up to a mark, with commas between them and perhaps behind them.
  template <typename F> void list(StringRef end, F element) {
    while (!failed && !isMark(end)) {
      element();
      if (!isMark(end) && !expect(","))
        return;
    }
    expect(end);
  }
  // Counts nesting while it lives.
  auto nest() {
    if (++nesting > deepest)
      fail("this nests deeper than " + Twine(deepest) + " levels", token.place);
    return scope_exit([this] { --nesting; });
  }
  Expr *finish(Expr *expr) {
    expr->depth = 1;
    forEachPart(*expr, [&](Expr *part) { expr->depth = std::max(expr->depth, part->depth + 1); });
    if (expr->depth > deepest)
      fail("this nests deeper than " + Twine(deepest) + " levels", expr->place);
    return expr;
  }

  // Definitions.
  std::vector<std::string> parseTypeParameters() {
    std::vector<std::string> names;
    if (take("<"))
      list(">", [&] { names.push_back(expectName("the name of a type parameter")); });
    return names;
  }
  void parseDataType() {
    advance();
    DataType type;
    type.place = token.place;
    type.name = expectName("the name of a data type");
    type.parameters = parseTypeParameters();
    expect("{");
    list("}", [&] {
      Constructor &made = type.constructors.emplace_back();
      made.place = token.place;
      made.name = expectName("the name of a constructor");
      if (!failed && !isCapital(made.name))
        fail("a constructor's name begins with a capital letter", made.place);
      constructors.insert(made.name);
      if (take("("))
        list(")", [&] { made.fields.push_back(parseType()); });
    });
    program->types.push_back(std::move(type));
  }
  Function *parseFunction(bool needsName) {
    Function *function = program->makeFunction(token.place);
    expect("fn");
    if (needsName) {
      function->place = token.place;
      function->name = expectName("the name of a function");
      if (isCapital(function->name))
        fail("a function's name begins with a small letter", function->place);
      function->typeParameters = parseTypeParameters();
    }
    expect("(");
    list(")", [&] {
      Parameter &parameter = function->parameters.emplace_back();
      parameter.place = token.place;
      parameter.name = expectName("the name of a parameter");
      if (take(":"))
        parameter.type = parseType();
    });
    if (take("->"))
      function->result = parseType();
    if (take("within")) {
      if (token.text.getAsInteger(10, function->within) || function->within < 1 || function->within > 1'000'000)
        fail("expected how many calls may be inside each other, up to a million");
      advance();
    }
    function->body = parseBlock();
    return function;
  }

  // Types and sizes.
  SizeExpr *parseSize(int level = 0) {
    auto nested = nest();
    Place place = token.place;
    SizeExpr *left = nullptr;
    if (take("(")) {
      left = parseSize();
      expect(")");
    } else if (take("?")) {
      left = program->make<SizeExpr>(SizeExpr::Any, place);
    } else if (token.kind == Token::Number) {
      left = program->make<SizeExpr>(SizeExpr::Number, place);
      if (token.text.getAsInteger(10, left->number) || left->number > INT32_MAX)
        fail("a size is a whole number below 2^31", place);
      advance();
    } else {
      left = program->make<SizeExpr>(SizeExpr::Symbol, place);
      left->name = expectName("a size");
    }
    unsigned length = 0;
    auto infix = [&](StringRef mark, SizeExpr::Kind kind, int its) {
      if (failed || level > its || !take(mark))
        return false;
      if (++length > deepest)
        fail("this nests deeper than " + Twine(deepest) + " levels", place);
      SizeExpr *whole = program->make<SizeExpr>(kind, place);
      whole->left = left, whole->right = parseSize(its + 1);
      left = whole;
      return true;
    };
    while (infix("*", SizeExpr::Mul, 1) || infix("/", SizeExpr::Div, 1) ||
           (level == 0 && (infix("+", SizeExpr::Add, 0) || infix("-", SizeExpr::Sub, 0))))
      ;
    return left;
  }
  TypeExpr *parseType() {
    auto nested = nest();
    Place place = token.place;
    if (take("(")) {
      TypeExpr *type = program->make<TypeExpr>(TypeExpr::Tuple, place);
      list(")", [&] { type->parts.push_back(parseType()); });
      return type;
    }
    if (take("fn")) {
      TypeExpr *type = program->make<TypeExpr>(TypeExpr::Function, place);
      expect("(");
      list(")", [&] { type->parts.push_back(parseType()); });
      expect("->");
      type->parts.push_back(parseType());
      return type;
    }
    if (take("ref")) {
      TypeExpr *type = program->make<TypeExpr>(TypeExpr::Ref, place);
      expect("<");
      type->parts.push_back(parseType());
      expect(">");
      return type;
    }
    if (take("Tensor")) {
      TypeExpr *type = program->make<TypeExpr>(TypeExpr::Tensor, place);
      expect("[");
      expect("(");
      list(")", [&] { type->sizes.push_back(parseSize()); });
      expect(",");
      type->parts.push_back(parseType());
      expect("]");
      return type;
    }
    TypeExpr *type = program->make<TypeExpr>(TypeExpr::Named, place);
    type->name = expectName("a type");
    if (take("<"))
      list(">", [&] { type->parts.push_back(parseType()); });
    return type;
  }

  // Patterns.
  Pattern *parsePattern() {
    auto nested = nest();
    Place place = token.place;
    if (take("_"))
      return program->make<Pattern>(Pattern::Any, place);
    if (take("(")) {
      Pattern *pattern = program->make<Pattern>(Pattern::Tuple, place);
      list(")", [&] { pattern->parts.push_back(parsePattern()); });
      return pattern;
    }
    std::string name = expectName("a pattern");
    Pattern *pattern = program->make<Pattern>(isCapital(name) ? Pattern::Constructor : Pattern::Name, place);
    pattern->name = std::move(name);
    if (pattern->kind == Pattern::Constructor && take("("))
      list(")", [&] { pattern->parts.push_back(parsePattern()); });
    return pattern;
  }

  // Expressions.
  Expr *parseBlock() {
    auto nested = nest();
    Expr *block = program->make(Expr::Block, token.place);
    expect("{");
    while (!failed) {
      if (isName("fn") && ahead.kind == Token::Name) {
        Expr *lambda = program->make(Expr::Lambda, token.place);
        lambda->function = parseFunction(/*needsName=*/true);
        block->lets.push_back({nullptr, nullptr, finish(lambda)});
        continue;
      }
      Let let;
      Place place = token.place;
      if (take("let")) {
        let.pattern = parsePattern();
        if (take(":"))
          let.type = parseType();
        expect("=");
        let.value = parseExpr();
      } else {
        let.value = parseExpr();
        if (!isMark(";")) {
          block->parts.push_back(let.value);
          break;
        }
        let.pattern = program->make<Pattern>(Pattern::Any, place);
      }
      expect(";");
      block->lets.push_back(let);
    }
    expect("}");
    return failed || block->lets.empty() ? (block->parts.empty() ? block : block->parts[0]) : finish(block);
  }
  Expr *parseExpr() {
    auto nested = nest();
    Expr *target = parseInfix(0);
    if (!isMark(":="))
      return target;
    Expr *assign = program->make(Expr::Assign, token.place);
    advance();
    assign->parts = {target, parseExpr()};
    return finish(assign);
  }
  Expr *parseInfix(int level) {
    Expr *left = parsePrefix();
    while (!failed && token.kind == Token::Mark) {
      bool isUnequal = isMark("!="); // for which there is no operator
      StringRef mark = isUnequal ? "==" : token.text;
      const Infix *infix = find_if(infixes, [&](const Infix &entry) { return entry.mark == mark; });
      if (infix == std::end(infixes) || infix->level < level)
        break;
      Expr *whole = program->make(Expr::Op, token.place);
      advance();
      whole->name = infix->op.str(), whole->index = 1;
      whole->parts = {left, parseInfix(infix->level + 1)};
      left = finish(whole);
      if (isUnequal) {
        Expr *negation = program->make(Expr::Op, whole->place);
        negation->name = "Not", negation->index = 1, negation->parts = {whole};
        left = finish(negation);
      }
    }
    return left;
  }
  Expr *parsePrefix() {
    auto nested = nest();
    Place place = token.place;
    auto isLiteral = [](const Token &token) {
      return token.kind == Token::Number || (token.kind == Token::Name && isSpecialFloat(token.text));
    };
    if (isMark("-") && isLiteral(ahead)) {
      advance();
      return parsePostfix(parseNumber(place, /*isNegative=*/true));
    }
    if (isMark("-") || isMark("!")) {
      Expr *op = program->make(Expr::Op, place);
      op->name = isMark("-") ? "Neg" : "Not", op->index = 1;
      advance();
      op->parts = {parsePrefix()};
      return finish(op);
    }
    if (take("*")) {
      Expr *deref = program->make(Expr::Deref, place);
      deref->parts = {parsePrefix()};
      return finish(deref);
    }
    return parsePostfix(parsePrimary());
  }
  Expr *parsePostfix(Expr *expr) {
    while (!failed)
      if (isMark("(")) {
        Expr *call = program->make(Expr::Call, token.place);
        advance();
        call->parts = {expr};
        list(")", [&] { call->parts.push_back(parseExpr()); });
        expr = finish(call);
      } else if (isMark(".")) {
        Expr *project = program->make(Expr::Project, token.place);
        advance();
        project->parts = {expr};
        // `t.0.1` has the number 0.1.
        auto [first, second] = token.text.split('.');
        if (token.kind != Token::Number || first.getAsInteger(10, project->index) || project->index > INT16_MAX)
          fail("expected the number of a tuple's element");
        expr = finish(project);
        if (!second.empty()) {
          Expr *inner = program->make(Expr::Project, project->place);
          inner->parts = {project};
          if (second.getAsInteger(10, inner->index) || inner->index > INT16_MAX)
            fail("expected the number of a tuple's element");
          expr = finish(inner);
        }
        advance();
      } else {
        break;
      }
    return expr;
  }
  Expr *parseNumber(Place place, bool isNegative) {
    Expr *constant = program->make(Expr::Constant, place);
    if (Error error = readNumber(token.text, isNegative, constant->literal))
      fail(toString(std::move(error)), token.place);
    advance();
    return constant;
  }
  Expr *parsePrimary() {
    Place place = token.place;
    if (token.kind == Token::Number || (token.kind == Token::Name && isSpecialFloat(token.text)))
      return parseNumber(place, /*isNegative=*/false);
    if (isMark("["))
      return parseTensor();
    if (isMark("{"))
      return parseBlock();
    if (isName("true") || isName("false")) {
      Expr *constant = program->make(Expr::Constant, place);
      constant->literal = {ElementType::Bool, {}, {isName("true")}, {}};
      advance();
      return constant;
    }
    if (take("("))
      return parseTuple(place);
    if (isName("fn")) {
      Expr *lambda = program->make(Expr::Lambda, place);
      lambda->function = parseFunction(/*needsName=*/false);
      return finish(lambda);
    }
    if (take("if"))
      return parseIf(place);
    if (take("match"))
      return parseMatch(place);
    if (take("ref")) {
      Expr *made = program->make(Expr::NewRef, place);
      expect("(");
      made->parts = {parseExpr()};
      expect(")");
      return finish(made);
    }
    bool isQuoted = token.kind == Token::String;
    std::string name = isQuoted ? token.text.str() : "";
    isQuoted ? advance() : void(name = expectName("an expression"));
    if ((isCapital(name) || isQuoted) && isMark("("))
      return parseOp(place, name);
    if (isQuoted)
      fail("a string is the value of an attribute or the name of an operator", place);
    Expr *var = program->make(Expr::Var, place);
    var->name = std::move(name);
    return var;
  }
  Expr *parseTuple(Place place) {
    Expr *tuple = program->make(Expr::Tuple, place);
    bool isTuple = isMark(")");
    list(")", [&] {
      tuple->parts.push_back(parseExpr());
      isTuple |= isMark(",");
    });
    return isTuple || failed ? finish(tuple) : tuple->parts[0];
  }
  Expr *parseIf(Place place) {
    Expr *branch = program->make(Expr::If, place);
    Expr *condition = parseExpr(), *then = parseBlock();
    expect("else");
    Place other = token.place;
    auto nested = nest();
    branch->parts = {condition, then, take("if") ? parseIf(other) : parseBlock()};
    return finish(branch);
  }
  Expr *parseMatch(Place place) {
    Expr *match = program->make(Expr::Match, place);
    match->parts = {parseExpr()};
    expect("{");
    list("}", [&] {
      Pattern *pattern = parsePattern();
      expect("=>");
      match->arms.push_back({pattern, parseExpr()});
    });
    return finish(match);
  }
  // Numbers in brackets, with the same count in all rows.
  Expr *parseTensor() {
    Expr *constant = program->make(Expr::Constant, token.place);
    std::vector<Literal> elements;
    unsigned rank = 0;
    parseRows(constant->literal.dims, elements, 0, rank);
    std::optional<ElementType> suffix;
    if (token.kind == Token::Name && !failed && (suffix = elementOfSuffix(token.text)))
      advance();
    if (!failed)
      if (Error error = joinElements(elements, suffix, constant->literal))
        fail(toString(std::move(error)), constant->place);
    return constant;
  }
  void parseRows(std::vector<int64_t> &dims, std::vector<Literal> &elements, unsigned depth, unsigned &rank) {
    auto nested = nest();
    Place place = token.place;
    expect("[");
    bool isFirst = depth == dims.size();
    if (isFirst)
      dims.push_back(0);
    int64_t count = 0;
    list("]", [&] {
      ++count;
      bool isRow = isMark("[");
      if (count == 1 && isFirst && !isRow)
        rank = depth + 1;
      if (isRow != (rank == 0 || depth + 1 < rank))
        fail("the rows of a tensor nest differently", token.place);
      if (isRow)
        return parseRows(dims, elements, depth + 1, rank);
      bool isNegative = take("-");
      if (isName("true") || isName("false")) {
        elements.push_back({ElementType::Bool, {}, {isName("true")}, {}});
      } else {
        if (token.kind != Token::Number && !isSpecialFloat(token.text))
          fail("expected a number");
        if (!failed)
          if (Error error = readNumber(token.text, isNegative, elements.emplace_back()))
            fail(toString(std::move(error)), token.place);
      }
      advance();
    });
    if (isFirst)
      dims[depth] = count;
    else if (dims[depth] != count)
      fail("rows of " + Twine(dims[depth]) + " and of " + Twine(count) + " elements", place);
    if (count == 0 && rank == 0)
      rank = depth + 1;
  }

  // An operator's operands, of which one may be left out, and attributes. Constructors look the same.
  Expr *parseOp(Place place, std::string name) {
    Expr *op = program->make(Expr::Op, place);
    op->name = std::move(name), op->index = 1;
    advance();
    list(")", [&] {
      if (token.kind == Token::Name && ahead.kind == Token::Mark && ahead.text == "=")
        return parseAttribute(*op);
      op->parts.push_back(take("_") ? nullptr : parseExpr());
    });
    ops.push_back(op);
    return finish(op);
  }
  void makeConstruction(Expr &op) {
    if (!op.attributes.empty() || op.index != 1 || is_contained(op.parts, nullptr))
      return fail("constructor " + Twine(op.name) + " takes values and nothing else", op.place);
    Expr *constructor = program->make(Expr::Var, op.place);
    constructor->name = std::move(op.name);
    op.kind = Expr::Call, op.index = 0, op.name.clear();
    op.parts.insert(op.parts.begin(), constructor);
  }
  void parseAttribute(Expr &op) {
    Attribute attribute;
    attribute.place = token.place;
    attribute.name = token.text.str();
    advance(), advance();
    bool isList = take("[");
    attribute.kind = isList ? Attribute::Ints : Attribute::Int;
    auto element = [&] {
      bool isNegative = take("-");
      Literal number;
      if (token.kind == Token::String) {
        attribute.kind = isList ? Attribute::Strings : Attribute::String;
        attribute.strings.push_back(token.text.str());
      } else if (std::optional<ElementType> type = elementNamed(token.text); type && !isList) {
        attribute.kind = Attribute::Element;
        attribute.ints.push_back(int(*type));
      } else if (token.kind != Token::Number && !isSpecialFloat(token.text)) {
        return fail("expected the value of an attribute");
      } else if (Error error = readNumber(token.text, isNegative, number)) {
        return fail(toString(std::move(error)), token.place);
      } else if (isFloat(number.element)) {
        attribute.kind = isList ? Attribute::Floats : Attribute::Float;
        attribute.floats.push_back(number.floats[0]);
      } else {
        attribute.ints.push_back(number.integers[0]);
      }
      advance();
    };
    isList ? list("]", element) : element();
    if (!attribute.ints.empty() + !attribute.floats.empty() + !attribute.strings.empty() > 1)
      fail("the values of an attribute are of one kind", attribute.place);
    if (attribute.name != "outputs")
      return op.attributes.push_back(std::move(attribute));
    // Not an attribute of ONNX, but how many results there are.
    if (attribute.kind != Attribute::Int || attribute.ints[0] < 1 || attribute.ints[0] > 64)
      return failed ? void() : fail("'outputs' is a number from 1 to 64", attribute.place);
    op.index = attribute.ints[0];
  }

  const Source &source;
  Lexer lexer;
  std::unique_ptr<Program> program;
  Token token, ahead;
  unsigned nesting = 0;
  bool failed = false;
  StringSet<> constructors;
  std::vector<Expr *> ops; // what is written like an operator
};

} // namespace

std::unique_ptr<Program> parse(StringRef text, const Source &source) { return Parser(text, source).run(); }

} // namespace fathom::functional
