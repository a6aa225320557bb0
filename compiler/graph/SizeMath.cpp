// Sizes as polynomials: the canonical form, its arithmetic and its bounds. Limits on terms, degree and nesting keep
// expressions that a model file makes up (x*x*x*...) from growing exponentially.
#include "compiler/graph/SizeMath.h"

#include "llvm/Support/CheckedArithmetic.h"
#include "llvm/Support/MathExtras.h"
#include <map>
#include <numeric>

using namespace mlir;
using llvm::checkedAdd;
using llvm::checkedMul;

namespace fathom::graph {
namespace {

constexpr size_t maxTerms = 256;
constexpr size_t maxDegree = 8;
constexpr int maxNodes = 2048;
// Bounds of a division ask for the bounds of what it divides, several times: deep nesting would take exponential time.
constexpr int maxNesting = 4;

// Structural and so independent of addresses: the printed form must not change from run to run.
int compare(AffineExpr a, AffineExpr b) {
  if (a == b)
    return 0;
  auto rank = [](AffineExpr e) {
    return isa<AffineSymbolExpr>(e) ? 0 : isa<AffineConstantExpr>(e) ? 1 : isa<AffineDimExpr>(e) ? 2 : 3;
  };
  if (int difference = rank(a) - rank(b))
    return difference;
  auto less = [](int64_t x, int64_t y) { return x < y ? -1 : 1; };
  if (auto symbol = dyn_cast<AffineSymbolExpr>(a))
    return less(symbol.getPosition(), cast<AffineSymbolExpr>(b).getPosition());
  if (auto constant = dyn_cast<AffineConstantExpr>(a))
    return less(constant.getValue(), cast<AffineConstantExpr>(b).getValue());
  if (auto dim = dyn_cast<AffineDimExpr>(a))
    return less(dim.getPosition(), cast<AffineDimExpr>(b).getPosition());
  auto x = cast<AffineBinaryOpExpr>(a), y = cast<AffineBinaryOpExpr>(b);
  if (x.getKind() != y.getKind())
    return less(int(x.getKind()), int(y.getKind()));
  if (int difference = compare(x.getLHS(), y.getLHS()))
    return difference;
  return compare(x.getRHS(), y.getRHS());
}

// A product of atoms (symbols and floor divisions), sorted, with repetition.
using Monomial = SmallVector<AffineExpr, 2>;

// Graded lexicographic, greatest first: a monomial order, so that division by leading terms ends.
struct MonomialOrder {
  bool operator()(const Monomial &a, const Monomial &b) const {
    if (a.size() != b.size())
      return a.size() > b.size();
    for (auto [x, y] : llvm::zip_equal(a, b))
      if (int order = compare(x, y))
        return order < 0;
    return false;
  }
};

struct Polynomial;
using MaybePolynomial = std::optional<Polynomial>;

struct Polynomial {
  std::map<Monomial, int64_t, MonomialOrder> terms;

  static Polynomial constant(int64_t value) {
    Polynomial p;
    if (value)
      p.terms[{}] = value;
    return p;
  }
  static Polynomial atom(AffineExpr expr) {
    Polynomial p;
    p.terms[{expr}] = 1;
    return p;
  }
  int64_t constantTerm() const {
    auto it = terms.find({});
    return it == terms.end() ? 0 : it->second;
  }
  std::optional<int64_t> asConstant() const {
    if (terms.empty() || (terms.size() == 1 && terms.begin()->first.empty()))
      return constantTerm();
    return std::nullopt;
  }
  bool addTerm(const Monomial &monomial, int64_t coefficient) {
    auto [it, isNew] = terms.try_emplace(monomial, 0);
    std::optional<int64_t> sum = checkedAdd(it->second, coefficient);
    if (!sum || *sum == INT64_MIN)
      return false;
    it->second = *sum;
    if (!*sum)
      terms.erase(it);
    return terms.size() <= maxTerms;
  }
};

MaybePolynomial multiplyAdd(const Polynomial &sum, const Polynomial &a, const Polynomial &b) {
  Polynomial result = sum;
  for (auto &[x, c] : a.terms)
    for (auto &[y, d] : b.terms) {
      std::optional<int64_t> coefficient = checkedMul(c, d);
      if (!coefficient || x.size() + y.size() > maxDegree)
        return std::nullopt;
      Monomial monomial = x;
      monomial.append(y.begin(), y.end());
      llvm::sort(monomial, [](AffineExpr p, AffineExpr q) { return compare(p, q) < 0; });
      if (!result.addTerm(monomial, *coefficient))
        return std::nullopt;
    }
  return result;
}
MaybePolynomial multiply(const Polynomial &a, const Polynomial &b) { return multiplyAdd({}, a, b); }
MaybePolynomial add(const Polynomial &a, const Polynomial &b, int64_t factor = 1) {
  return multiplyAdd(a, b, Polynomial::constant(factor));
}

// Divides leading terms as long as that leaves no fractions; returns the quotient and what is left.
std::optional<std::pair<Polynomial, Polynomial>> divide(Polynomial a, const Polynomial &b) {
  if (b.terms.empty())
    return std::nullopt;
  Polynomial quotient;
  auto &[divisor, divisorCoefficient] = *b.terms.begin();
  for (size_t step = 0; !a.terms.empty(); ++step) {
    auto &[lead, coefficient] = *a.terms.begin();
    Monomial rest = lead;
    for (AffineExpr atom : divisor) {
      auto it = llvm::find(rest, atom);
      if (it == rest.end())
        return std::pair(quotient, a);
      rest.erase(it);
    }
    if (coefficient % divisorCoefficient)
      return std::pair(quotient, a);
    Polynomial term;
    term.terms[rest] = coefficient / divisorCoefficient;
    MaybePolynomial product = multiply(term, b);
    MaybePolynomial remainder = product ? add(a, *product, -1) : std::nullopt;
    if (step > maxTerms || !remainder || !quotient.addTerm(rest, term.terms.begin()->second))
      return std::nullopt;
    a = std::move(*remainder);
  }
  return std::pair(quotient, a);
}

// a / b when it leaves no remainder.
MaybePolynomial divideExactly(const Polynomial &a, const Polynomial &b) {
  auto parts = divide(a, b);
  return parts && parts->second.terms.empty() ? MaybePolynomial(parts->first) : std::nullopt;
}

int countNodes(AffineExpr expr, int limit) {
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary || limit <= 0)
    return 1;
  int left = countNodes(binary.getLHS(), limit - 1);
  return 1 + left + countNodes(binary.getRHS(), limit - 1 - left);
}

int countNesting(AffineExpr expr) {
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return 0;
  int inner = std::max(countNesting(binary.getLHS()), countNesting(binary.getRHS()));
  return inner + (expr.getKind() == AffineExprKind::FloorDiv || expr.getKind() == AffineExprKind::Mod);
}

AffineExpr toExpr(const Polynomial &p, MLIRContext *context) {
  AffineExpr sum;
  for (auto &[monomial, coefficient] : p.terms) {
    AffineExpr term;
    for (AffineExpr atom : monomial)
      term = term ? term * atom : atom;
    term = term ? term * coefficient : getAffineConstantExpr(coefficient, context);
    sum = sum ? sum + term : term;
  }
  if (!sum)
    return getAffineConstantExpr(0, context);
  return countNodes(sum, maxNodes) >= maxNodes ? AffineExpr() : sum;
}

struct Range {
  std::optional<int64_t> min, max;
};
Range rangeOf(const Polynomial &p, const SymbolList &symbols, int depth);
MaybePolynomial fromExpr(AffineExpr expr, int depth = 0);

// A division that cannot be simplified.
MaybePolynomial quotientAtom(AffineExpr numerator, AffineExpr denominator) {
  if (!numerator || !denominator || countNesting(numerator) >= maxNesting || countNesting(denominator) >= maxNesting)
    return std::nullopt;
  AffineExpr quotient = numerator.floorDiv(denominator);
  return quotient.getKind() == AffineExprKind::FloorDiv ? MaybePolynomial(Polynomial::atom(quotient)) : std::nullopt;
}

// floor(a / divisor) for a positive constant: whole parts move out, common factors cancel, nested divisions merge.
MaybePolynomial floorDivide(const Polynomial &a, int64_t divisor, MLIRContext *context, int depth) {
  Polynomial whole, rest;
  int64_t factor = divisor;
  for (auto &[monomial, coefficient] : a.terms) {
    int64_t quotient = llvm::divideFloorSigned(coefficient, divisor), remainder = coefficient - quotient * divisor;
    if ((quotient && !whole.addTerm(monomial, quotient)) || (remainder && !rest.addTerm(monomial, remainder)))
      return std::nullopt;
    if (!monomial.empty() && remainder)
      factor = std::gcd(factor, remainder);
  }
  if (rest.asConstant())
    return whole;
  for (auto &[monomial, coefficient] : rest.terms)
    coefficient /= factor;
  if (!rest.constantTerm())
    rest.terms.erase(Monomial());
  divisor /= factor;
  if (divisor == 1)
    return add(whole, rest);
  // floor((floor(x / d) + c) / e) = floor((x + c*d) / (d*e)): chains of strided windows stay short.
  auto &[lead, coefficient] = *rest.terms.begin();
  if (lead.size() == 1 && coefficient == 1 && rest.terms.size() == (rest.constantTerm() ? 2u : 1u) && depth < 32)
    if (auto inner = dyn_cast<AffineBinaryOpExpr>(lead[0]))
      if (auto innerDivisor = dyn_cast<AffineConstantExpr>(inner.getRHS())) {
        std::optional<int64_t> both = checkedMul(divisor, innerDivisor.getValue());
        MaybePolynomial x = fromExpr(inner.getLHS(), depth + 1);
        if (both && x)
          x = add(*x, Polynomial::constant(rest.constantTerm()), innerDivisor.getValue());
        if (both && x)
          x = floorDivide(*x, *both, context, depth + 1);
        return both && x ? add(whole, *x) : std::nullopt;
      }
  MaybePolynomial quotient = quotientAtom(toExpr(rest, context), getAffineConstantExpr(divisor, context));
  return quotient ? add(whole, *quotient) : std::nullopt;
}

MaybePolynomial floorDivide(const Polynomial &a, const Polynomial &b, MLIRContext *context, int depth) {
  if (std::optional<int64_t> divisor = b.asConstant())
    return *divisor > 0 ? floorDivide(a, *divisor, context, depth) : std::nullopt;
  if (auto parts = divide(a, b)) {
    auto &[quotient, rest] = *parts;
    if (rest.terms.empty())
      return quotient;
    // Whatever the divisor: floor((q*b - 1) / b) = q - 1.
    if (rest.asConstant() == -1)
      return add(quotient, Polynomial::constant(-1));
  }
  AffineExpr numerator = toExpr(a, context), denominator = toExpr(b, context);
  return rangeOf(b, {}, 0).min.value_or(0) >= 1 ? quotientAtom(numerator, denominator) : std::nullopt;
}

MaybePolynomial fromExpr(AffineExpr expr, int depth) {
  if (!expr || depth > 512)
    return std::nullopt;
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return constant.getValue() == INT64_MIN ? std::nullopt : MaybePolynomial(Polynomial::constant(constant.getValue()));
  if (isa<AffineSymbolExpr>(expr))
    return Polynomial::atom(expr);
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return std::nullopt;
  MaybePolynomial a = fromExpr(binary.getLHS(), depth + 1), b = fromExpr(binary.getRHS(), depth + 1);
  if (!a || !b)
    return std::nullopt;
  MLIRContext *context = expr.getContext();
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    return add(*a, *b);
  case AffineExprKind::Mul:
    return multiply(*a, *b);
  case AffineExprKind::FloorDiv:
    return floorDivide(*a, *b, context, depth);
  case AffineExprKind::CeilDiv: {
    MaybePolynomial rounded = add(*a, *b);
    rounded = rounded ? add(*rounded, Polynomial::constant(-1)) : std::nullopt;
    return rounded ? floorDivide(*rounded, *b, context, depth) : std::nullopt;
  }
  case AffineExprKind::Mod: {
    MaybePolynomial quotient = floorDivide(*a, *b, context, depth);
    quotient = quotient ? multiply(*quotient, *b) : std::nullopt;
    return quotient ? add(*a, *quotient, -1) : std::nullopt;
  }
  default:
    return std::nullopt;
  }
}

Range rangeOfAtom(AffineExpr atom, const SymbolList &symbols, int depth) {
  if (auto symbol = dyn_cast<AffineSymbolExpr>(atom)) {
    Range range{1, std::nullopt};
    if (symbol.getPosition() < symbols.size()) {
      const Symbol &declared = symbols[symbol.getPosition()];
      range.min = declared.min;
      if (declared.max < INT32_MAX && declared.max >= *range.min)
        range.max = declared.max;
    }
    return range;
  }
  auto division = dyn_cast<AffineBinaryOpExpr>(atom);
  if (!division || depth > 32)
    return {};
  MaybePolynomial a = fromExpr(division.getLHS()), b = fromExpr(division.getRHS());
  if (!a || !b)
    return {};
  Range range = rangeOf(*a, symbols, depth + 1);
  if (std::optional<int64_t> divisor = b->asConstant()) {
    if (range.min)
      range.min = llvm::divideFloorSigned(*range.min, *divisor);
    if (range.max)
      range.max = llvm::divideFloorSigned(*range.max, *divisor);
    return range;
  }
  if (range.min)
    range.min = *range.min >= 0 ? std::optional<int64_t>(0) : std::nullopt;
  if (range.max)
    range.max = std::max<int64_t>(*range.max, 0);
  return range;
}

// d times what is left of p when one of its divisions floor(a / d) is replaced by its bound, (a - d + 1) / d or a / d.
std::optional<std::pair<Polynomial, int64_t>> withoutDivision(const Polynomial &p) {
  for (auto &[monomial, coefficient] : p.terms) {
    auto division = monomial.size() == 1 ? dyn_cast<AffineBinaryOpExpr>(monomial[0]) : nullptr;
    std::optional<int64_t> divisor = division ? constantSize(division.getRHS()) : std::nullopt;
    MaybePolynomial a = divisor ? fromExpr(division.getLHS()) : std::nullopt;
    if (!a || *divisor <= 0)
      continue;
    MaybePolynomial rest = add(p, Polynomial::atom(monomial[0]), -coefficient);
    if (coefficient > 0)
      a = add(*a, Polynomial::constant(1 - *divisor));
    rest = rest ? multiply(*rest, Polynomial::constant(*divisor)) : std::nullopt;
    rest = rest && a ? add(*rest, *a, coefficient) : std::nullopt;
    return rest ? std::optional(std::pair(*rest, *divisor)) : std::nullopt;
  }
  return std::nullopt;
}

// The least value of p. First with every atom written as (its minimum + something not negative), which sees that s0*s1
// - s0 is not negative; then by the atoms' ranges.
std::optional<int64_t> leastValue(const Polynomial &p, const SymbolList &symbols, int depth) {
  MaybePolynomial shifted = Polynomial();
  std::optional<int64_t> least = 0;
  for (auto &[monomial, coefficient] : p.terms) {
    MaybePolynomial term = Polynomial::constant(coefficient);
    std::optional<int64_t> bound = coefficient;
    for (AffineExpr atom : monomial) {
      Range range = rangeOfAtom(atom, symbols, depth);
      MaybePolynomial factor;
      if (range.min)
        factor = add(Polynomial::atom(atom), Polynomial::constant(*range.min));
      term = term && factor ? multiply(*term, *factor) : std::nullopt;
      std::optional<int64_t> edge = coefficient > 0 ? range.min : range.max;
      bool isNonNegative = range.min.value_or(-1) >= 0;
      bound = bound && edge && isNonNegative ? checkedMul(*bound, *edge) : std::nullopt;
    }
    shifted = shifted && term ? add(*shifted, *term) : std::nullopt;
    least = least && bound ? checkedAdd(*least, *bound) : std::nullopt;
  }
  auto isNegative = [](auto &term) { return !term.first.empty() && term.second < 0; };
  if (shifted && llvm::none_of(shifted->terms, isNegative))
    least = std::max(shifted->constantTerm(), least.value_or(INT64_MIN));
  // A half and its whole have symbols in common: s0 - floor((s0 + 1) / 2) is not negative. Few steps, and none within
  // divisions, as that takes exponential time.
  constexpr int maxDivisions = 4;
  auto open = depth == 0 ? withoutDivision(p) : std::nullopt;
  for (auto [i, factor] = std::pair(0, int64_t(1)); open && i < maxDivisions;
       ++i, open = withoutDivision(open->first)) {
    std::optional<int64_t> product = checkedMul(factor, open->second), bound = leastValue(open->first, symbols, 1);
    if (!product)
      break;
    factor = *product;
    if (bound)
      least = std::max(llvm::divideCeilSigned(*bound, factor), least.value_or(INT64_MIN));
  }
  return least;
}

Range rangeOf(const Polynomial &p, const SymbolList &symbols, int depth) {
  Range range{leastValue(p, symbols, depth), std::nullopt};
  if (MaybePolynomial negated = add({}, p, -1))
    if (std::optional<int64_t> least = leastValue(*negated, symbols, depth))
      range.max = -*least;
  return range;
}

template <typename Function> AffineExpr apply(AffineExpr a, AffineExpr b, Function function) {
  MaybePolynomial x = fromExpr(a), y = fromExpr(b);
  MaybePolynomial result = x && y ? function(*x, *y) : std::nullopt;
  return result ? toExpr(*result, a.getContext()) : AffineExpr();
}
AffineExpr constantLike(AffineExpr a, std::optional<int64_t> value) {
  return a && value ? getAffineConstantExpr(*value, a.getContext()) : AffineExpr();
}

} // namespace

namespace size {

AffineExpr canonical(AffineExpr a) {
  MaybePolynomial p = fromExpr(a);
  return p ? toExpr(*p, a.getContext()) : AffineExpr();
}
AffineExpr simplified(AffineExpr a) {
  llvm::SmallBitVector used;
  collectSymbols(a, used);
  return simplifyAffineExpr(a, 0, used.size());
}
AffineExpr add(AffineExpr a, AffineExpr b) {
  if (auto x = constantSize(a), y = constantSize(b); x && y)
    return constantLike(a, checkedAdd(*x, *y));
  return apply(a, b, [](const Polynomial &x, const Polynomial &y) { return graph::add(x, y); });
}
AffineExpr sub(AffineExpr a, AffineExpr b) {
  return apply(a, b, [](const Polynomial &x, const Polynomial &y) { return graph::add(x, y, -1); });
}
AffineExpr mul(AffineExpr a, AffineExpr b) {
  if (auto x = constantSize(a), y = constantSize(b); x && y)
    return constantLike(a, checkedMul(*x, *y));
  return apply(a, b, multiply);
}
AffineExpr floorDiv(AffineExpr a, AffineExpr b) {
  return apply(a, b, [&](const Polynomial &x, const Polynomial &y) { return floorDivide(x, y, a.getContext(), 0); });
}
AffineExpr exactDiv(AffineExpr a, AffineExpr b) {
  return apply(a, b, [](const Polynomial &x, const Polynomial &y) { return divideExactly(x, y); });
}
AffineExpr add(AffineExpr a, int64_t b) { return add(a, constantLike(a, b)); }
AffineExpr mul(AffineExpr a, int64_t b) { return mul(a, constantLike(a, b)); }
AffineExpr floorDiv(AffineExpr a, int64_t b) { return floorDiv(a, constantLike(a, b)); }
AffineExpr ceilDiv(AffineExpr a, int64_t b) { return b > 0 ? floorDiv(add(a, b - 1), b) : AffineExpr(); }

AffineExpr wholeDiv(ArrayRef<AffineExpr> a, ArrayRef<AffineExpr> b) {
  MaybePolynomial numerator = Polynomial::constant(1), denominator = numerator;
  llvm::SmallBitVector divided; // the symbols in divisions of b
  auto put = [](MaybePolynomial &product, const MaybePolynomial &factor) {
    product = product && factor ? multiply(*product, *factor) : std::nullopt;
  };
  auto putAll = [&](ArrayRef<AffineExpr> factors, MaybePolynomial &above, MaybePolynomial &below, auto isWhole) {
    for (AffineExpr factor : factors) {
      MaybePolynomial p = fromExpr(factor);
      if (!p || p->terms.size() != 1) {
        put(above, p);
        continue;
      }
      auto &[monomial, coefficient] = *p->terms.begin();
      put(above, Polynomial::constant(coefficient));
      for (AffineExpr atom : monomial) {
        auto division = dyn_cast<AffineBinaryOpExpr>(atom);
        bool isTaken = division && isWhole(division);
        put(above, isTaken ? fromExpr(division.getLHS()) : Polynomial::atom(atom));
        if (isTaken)
          put(below, fromExpr(division.getRHS()));
      }
    }
  };
  putAll(b, denominator, numerator, [&](AffineExpr division) { return collectSymbols(division, divided), true; });
  // What has nothing to do with those keeps what it rounds down.
  putAll(a, numerator, denominator, [&](AffineExpr division) {
    llvm::SmallBitVector used;
    collectSymbols(division, used);
    return used.anyCommon(divided);
  });
  MaybePolynomial quotient =
      divided.any() && numerator && denominator ? divideExactly(*numerator, *denominator) : std::nullopt;
  return quotient ? toExpr(*quotient, b.front().getContext()) : AffineExpr();
}

bool same(AffineExpr a, AffineExpr b) {
  if (!a || !b || a == b)
    return a && b;
  AffineExpr x = canonical(a);
  return x && x == canonical(b);
}

std::optional<int64_t> lowerBound(AffineExpr a, const SymbolList &symbols) {
  MaybePolynomial p = fromExpr(a);
  return p ? leastValue(*p, symbols, 0) : std::nullopt;
}
std::optional<int64_t> upperBound(AffineExpr a, const SymbolList &symbols) {
  MaybePolynomial p = fromExpr(a);
  return p ? rangeOf(*p, symbols, 0).max : std::nullopt;
}
bool isAtLeast(AffineExpr a, AffineExpr b, const SymbolList &symbols) {
  return lowerBound(sub(a, b), symbols).value_or(-1) >= 0;
}

std::optional<int64_t> evaluate(AffineExpr a, ArrayRef<int64_t> values) {
  if (!a)
    return std::nullopt;
  if (auto constant = dyn_cast<AffineConstantExpr>(a))
    return constant.getValue();
  if (auto symbol = dyn_cast<AffineSymbolExpr>(a))
    return symbol.getPosition() < values.size() ? std::optional(values[symbol.getPosition()]) : std::nullopt;
  auto binary = dyn_cast<AffineBinaryOpExpr>(a);
  if (!binary)
    return std::nullopt;
  std::optional<int64_t> x = evaluate(binary.getLHS(), values), y = evaluate(binary.getRHS(), values);
  if (!x || !y)
    return std::nullopt;
  switch (a.getKind()) {
  case AffineExprKind::Add:
    return checkedAdd(*x, *y);
  case AffineExprKind::Mul:
    return checkedMul(*x, *y);
  case AffineExprKind::FloorDiv:
    return *y > 0 ? std::optional(llvm::divideFloorSigned(*x, *y)) : std::nullopt;
  case AffineExprKind::CeilDiv:
    return *y > 0 ? std::optional(llvm::divideCeilSigned(*x, *y)) : std::nullopt;
  case AffineExprKind::Mod:
    return *y > 0 ? std::optional(*x - *y * llvm::divideFloorSigned(*x, *y)) : std::nullopt;
  default:
    return std::nullopt;
  }
}

} // namespace size
} // namespace fathom::graph
