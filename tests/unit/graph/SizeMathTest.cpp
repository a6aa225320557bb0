// Arithmetic on sizes against brute force: random expressions, evaluated for all small values of their symbols. The
// seed is fresh in every run and printed; FATHOM_TEST_SEED repeats one.
#include "compiler/graph/SizeMath.h"

#include "mlir/IR/AffineMap.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/MathExtras.h"
#include <cstdlib>
#include <gtest/gtest.h>
#include <memory>
#include <random>

using namespace mlir;

namespace fathom::graph {
namespace {

constexpr unsigned numSymbols = 3;
using Values = std::array<int64_t, numSymbols>;
// Wide enough that nothing which is computed here overflows.
using Wide = __int128;
using MaybeWide = std::optional<Wide>;

uint64_t freshSeed() {
  const char *text = std::getenv("FATHOM_TEST_SEED");
  uint64_t seed = text ? std::strtoull(text, nullptr, 0) : std::random_device()();
  std::printf("repeat with FATHOM_TEST_SEED=%llu\n", static_cast<unsigned long long>(seed));
  return seed;
}

// An expression as it was written. It knows nothing of SizeMath: its values are what the others are held against.
struct Tree {
  enum Kind { Constant, SymbolOf, Add, Sub, Mul, FloorDiv, CeilDiv, Mod } kind;
  int64_t value = 0; // of a constant, or the symbol's position
  std::shared_ptr<const Tree> left, right;
};
using TreePtr = std::shared_ptr<const Tree>;

TreePtr leaf(Tree::Kind kind, int64_t value) { return std::make_shared<Tree>(Tree{kind, value, nullptr, nullptr}); }
TreePtr binary(Tree::Kind kind, TreePtr left, TreePtr right) {
  return std::make_shared<Tree>(Tree{kind, 0, std::move(left), std::move(right)});
}

Wide floorOf(Wide a, Wide b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

// Nothing where something is divided by what is not positive, which has no meaning as a size.
MaybeWide valueOf(const Tree &tree, const Values &values) {
  if (tree.kind == Tree::Constant)
    return tree.value;
  if (tree.kind == Tree::SymbolOf)
    return values[size_t(tree.value)];
  MaybeWide a = valueOf(*tree.left, values), b = valueOf(*tree.right, values);
  if (!a || !b)
    return std::nullopt;
  if (tree.kind >= Tree::FloorDiv && *b <= 0)
    return std::nullopt;
  switch (tree.kind) {
  case Tree::Add:
    return *a + *b;
  case Tree::Sub:
    return *a - *b;
  case Tree::Mul:
    return *a * *b;
  case Tree::FloorDiv:
    return floorOf(*a, *b);
  case Tree::CeilDiv:
    return -floorOf(-*a, *b);
  default:
    return *a - *b * floorOf(*a, *b);
  }
}

// As MLIR writes it.
AffineExpr written(const Tree &tree, MLIRContext *context) {
  if (tree.kind == Tree::Constant)
    return getAffineConstantExpr(tree.value, context);
  if (tree.kind == Tree::SymbolOf)
    return getAffineSymbolExpr(unsigned(tree.value), context);
  AffineExpr a = written(*tree.left, context), b = written(*tree.right, context);
  switch (tree.kind) {
  case Tree::Add:
    return a + b;
  case Tree::Sub:
    return a - b;
  case Tree::Mul:
    return a * b;
  case Tree::FloorDiv:
    return a.floorDiv(b);
  case Tree::CeilDiv:
    return a.ceilDiv(b);
  default:
    return a % b;
  }
}

// Step by step by SizeMath, as shape functions do; null where it says that something cannot be expressed.
AffineExpr computed(const Tree &tree, MLIRContext *context) {
  if (!tree.left)
    return written(tree, context);
  AffineExpr a = computed(*tree.left, context), b = computed(*tree.right, context);
  if (!a || !b)
    return {};
  std::optional<int64_t> constant = constantSize(b);
  switch (tree.kind) {
  case Tree::Add:
    return constant ? size::add(a, *constant) : size::add(a, b);
  case Tree::Sub:
    return size::sub(a, b);
  case Tree::Mul:
    return constant ? size::mul(a, *constant) : size::mul(a, b);
  case Tree::FloorDiv:
    return constant ? size::floorDiv(a, *constant) : size::floorDiv(a, b);
  case Tree::CeilDiv:
    return constant ? size::ceilDiv(a, *constant) : size::floorDiv(size::add(a, size::add(b, -1)), b);
  default: {
    AffineExpr quotient = size::floorDiv(a, b);
    return quotient ? size::sub(a, size::mul(quotient, b)) : AffineExpr();
  }
  }
}

std::string textOf(AffineExpr expr) {
  std::string text;
  llvm::raw_string_ostream(text) << expr;
  return text;
}

class SizeMath : public testing::Test {
protected:
  MLIRContext context;
  std::mt19937_64 random{freshSeed()};

  int64_t among(int64_t least, int64_t most) { return std::uniform_int_distribution<int64_t>(least, most)(random); }
  TreePtr symbol() { return leaf(Tree::SymbolOf, among(0, numSymbols - 1)); }
  TreePtr constant(int64_t least = -6, int64_t most = 12) { return leaf(Tree::Constant, among(least, most)); }

  // Above zero for all sizes from 1 on.
  TreePtr positive() {
    switch (among(0, 7)) {
    case 0:
      return symbol();
    case 1:
      return binary(Tree::Add, symbol(), constant(0, 3));
    case 2:
      return binary(Tree::Mul, symbol(), symbol());
    default:
      return constant(1, 8);
    }
  }

  TreePtr tree(int depth, int64_t scale = 1) {
    if (depth == 0 || among(0, 7) == 0)
      return among(0, 2) ? symbol() : leaf(Tree::Constant, among(-6, 12) * among(1, scale));
    auto kind = Tree::Kind(among(Tree::Add, Tree::Mod));
    TreePtr right = kind >= Tree::FloorDiv ? positive() : tree(depth - 1, scale);
    return binary(kind, tree(depth - 1, scale), right);
  }

  // Calls the function for all values of the symbols from `least` to `most`.
  template <typename Function> static void forAll(const Values &least, const Values &most, Function function) {
    Values values;
    for (values[0] = least[0]; values[0] <= most[0]; ++values[0])
      for (values[1] = least[1]; values[1] <= most[1]; ++values[1])
        for (values[2] = least[2]; values[2] <= most[2]; ++values[2])
          function(values);
  }
  template <typename Function> static void forSmall(Function function) { forAll({1, 1, 1}, {7, 7, 7}, function); }

  // Whether the expression has the tree's values; counts how many were compared.
  void expectValues(const Tree &tree, AffineExpr expr, const char *what, AffineExpr from) {
    forSmall([&](const Values &values) {
      MaybeWide want = valueOf(tree, values);
      std::optional<int64_t> got = size::evaluate(expr, values);
      if (!want || testing::Test::HasFailure())
        return;
      ++compared;
      ASSERT_TRUE(got && *got == *want) << what << " of " << textOf(from) << " is " << textOf(expr) << ", which has "
                                        << got.value_or(INT64_MIN) << " instead of " << int64_t(*want) << " for "
                                        << values[0] << ", " << values[1] << ", " << values[2];
    });
  }

  int64_t compared = 0;
};

TEST_F(SizeMath, EveryFormKeepsTheValue) {
  int64_t inexpressible = 0;
  constexpr int rounds = 1000;
  for (int round = 0; round < rounds && !HasFailure(); ++round) {
    TreePtr t = tree(int(among(1, 4)));
    AffineExpr raw = written(*t, &context);
    expectValues(*t, raw, "the text", raw);
    expectValues(*t, size::simplified(raw), "simplified()", raw);
    for (auto [what, expr] :
         {std::pair("canonical()", size::canonical(raw)), std::pair("the arithmetic", computed(*t, &context))}) {
      if (expr)
        expectValues(*t, expr, what, raw);
      else
        ++inexpressible;
    }
  }
  // Most of such expressions are within the limits; were they not, the test would say nothing.
  EXPECT_LT(inexpressible, rounds / 4);
  EXPECT_GT(compared, 100 * rounds);
}

TEST_F(SizeMath, TheCanonicalFormIsItsOwn) {
  for (int round = 0; round < 3000; ++round) {
    AffineExpr raw = written(*tree(int(among(1, 4))), &context), once = size::canonical(raw);
    if (once)
      ASSERT_EQ(size::canonical(once), once)
          << textOf(raw) << " is " << textOf(once) << ", then " << textOf(size::canonical(once));
  }
}

TEST_F(SizeMath, WhatIsTheSameIsEqual) {
  int64_t same = 0;
  for (int round = 0; round < 20000 && !HasFailure(); ++round) {
    TreePtr a = tree(int(among(1, 2))), b = tree(int(among(1, 2)));
    if (!size::same(written(*a, &context), written(*b, &context)))
      continue;
    ++same;
    expectValues(*a, written(*b, &context), "what is the same as the text", written(*a, &context));
  }
  EXPECT_GT(same, 20);
}

// Rules of rings, by which sizes that were computed in other ways are found to be equal.
TEST_F(SizeMath, OrderAndDistributionDoNotMatter) {
  int64_t checked = 0;
  for (int round = 0; round < 2000; ++round) {
    AffineExpr a = computed(*tree(2), &context), b = computed(*tree(2), &context), c = computed(*tree(1), &context);
    if (!a || !b || !c)
      continue;
    std::pair<AffineExpr, AffineExpr> pairs[] = {
        {size::mul(size::add(a, b), c), size::add(size::mul(c, b), size::mul(c, a))},
        {size::add(size::sub(a, b), b), a},
        {size::mul(size::mul(a, b), c), size::mul(a, size::mul(b, c))},
        {size::sub(a, b), size::mul(size::sub(b, a), -1)}};
    for (auto [x, y] : pairs) {
      if (!x || !y)
        continue;
      ++checked;
      ASSERT_TRUE(size::same(x, y)) << textOf(x) << " and " << textOf(y) << ", from " << textOf(a) << "; " << textOf(b)
                                    << "; " << textOf(c);
    }
  }
  EXPECT_GT(checked, 4000);
}

TEST_F(SizeMath, BoundsHold) {
  int64_t lower = 0, upper = 0, ordered = 0;
  constexpr int rounds = 1000;
  for (int round = 0; round < rounds && !HasFailure(); ++round) {
    Values least, most;
    SmallVector<Symbol> symbols;
    for (unsigned i = 0; i < numSymbols; ++i) {
      least[i] = among(0, 4);
      most[i] = least[i] + among(0, 4);
      symbols.push_back({"s" + std::to_string(i), least[i], most[i]});
    }
    TreePtr a = tree(int(among(1, 3))), b = tree(int(among(1, 2)));
    AffineExpr x = size::canonical(written(*a, &context)), y = size::canonical(written(*b, &context));
    if (!x || !y)
      continue;
    std::optional<int64_t> low = size::lowerBound(x, symbols), high = size::upperBound(x, symbols);
    bool isAtLeast = size::isAtLeast(x, y, symbols);
    lower += low.has_value(), upper += high.has_value(), ordered += isAtLeast;
    forAll(least, most, [&](const Values &values) {
      MaybeWide value = valueOf(*a, values), other = valueOf(*b, values);
      if (!value || HasFailure())
        return;
      auto where = [&] {
        return textOf(x) + " for " + std::to_string(values[0]) + ", " + std::to_string(values[1]) + ", " +
               std::to_string(values[2]) + " of " + std::to_string(least[0]) + ".." + std::to_string(most[0]) + ", " +
               std::to_string(least[1]) + ".." + std::to_string(most[1]) + ", " + std::to_string(least[2]) + ".." +
               std::to_string(most[2]);
      };
      ASSERT_TRUE(!low || *low <= *value) << *low << " is no lower bound of " << where();
      ASSERT_TRUE(!high || *high >= *value) << *high << " is no upper bound of " << where();
      ASSERT_TRUE(!isAtLeast || !other || *value >= *other) << where() << " is less than " << textOf(y);
    });
  }
  EXPECT_GT(lower, rounds / 2);
  EXPECT_GT(upper, rounds / 2);
  EXPECT_GT(ordered, rounds / 20);
}

// Without ranges no symbol is below 1, and none has an end.
TEST_F(SizeMath, BoundsOfAnySizeHold) {
  int64_t bounds = 0;
  for (int round = 0; round < 3000 && !HasFailure(); ++round) {
    TreePtr t = tree(int(among(1, 3)));
    AffineExpr expr = size::canonical(written(*t, &context));
    if (!expr)
      continue;
    std::optional<int64_t> low = size::lowerBound(expr), high = size::upperBound(expr);
    bounds += low.has_value() + high.has_value();
    for (int draw = 0; draw < 200; ++draw) {
      Values values;
      for (int64_t &value : values)
        value = among(0, 2) ? among(1, 9) : among(1, 1000);
      if (MaybeWide value = valueOf(*t, values)) {
        ASSERT_TRUE(!low || *low <= *value) << *low << " is no lower bound of " << textOf(expr);
        ASSERT_TRUE(!high || *high >= *value) << *high << " is no upper bound of " << textOf(expr);
      }
    }
  }
  EXPECT_GT(bounds, 1000);
}

TEST_F(SizeMath, ExactQuotientsAreExact) {
  int64_t exact = 0, found = 0;
  for (int round = 0; round < 4000 && !HasFailure(); ++round) {
    TreePtr a = tree(2), b = among(0, 1) ? tree(1) : positive();
    AffineExpr x = computed(*a, &context), y = computed(*b, &context);
    if (!x || !y)
      continue;
    if (AffineExpr quotient = size::exactDiv(x, y)) {
      ++exact;
      expectValues(*a, quotient * y, "the quotient times its divisor", x);
    }
    // A product is divided by either factor.
    AffineExpr product = size::mul(x, y);
    if (!product || isConstant(y, 0))
      continue;
    AffineExpr back = size::exactDiv(product, y);
    found += bool(back);
    ASSERT_TRUE(back && size::same(back, x)) << textOf(product) << " / " << textOf(y) << " is "
                                             << (back ? textOf(back) : "nothing") << ", not " << textOf(x);
  }
  EXPECT_GT(exact, 200);
  EXPECT_GT(found, 2000);
}

// Whether divisions leave no remainder: all of an expression, or those with one of these symbols.
bool isWhole(AffineExpr expr, const Values &values, const llvm::SmallBitVector *among = nullptr) {
  bool result = true;
  expr.walk([&](AffineExpr part) {
    auto division = dyn_cast<AffineBinaryOpExpr>(part);
    if (!division || part.getKind() != AffineExprKind::FloorDiv)
      return;
    llvm::SmallBitVector used;
    collectSymbols(part, used);
    if (among && !used.anyCommon(*among))
      return;
    std::optional<int64_t> a = size::evaluate(division.getLHS(), values), b = size::evaluate(division.getRHS(), values);
    result &= a && b && *b > 0 && *a % *b == 0;
  });
  return result;
}

TEST_F(SizeMath, WholeQuotientsHoldWhereNothingIsLeft) {
  int64_t found = 0, checked = 0;
  for (int round = 0; round < 8000 && !HasFailure(); ++round) {
    auto factors = [&](int64_t count) {
      SmallVector<AffineExpr> result;
      for (; count > 0; --count) {
        TreePtr dividend = among(0, 1) ? symbol() : binary(Tree::Mul, symbol(), constant(1, 6));
        TreePtr factor = among(0, 1) ? binary(Tree::FloorDiv, dividend, constant(1, 6)) : dividend;
        result.push_back(size::canonical(written(*factor, &context)));
      }
      return result;
    };
    SmallVector<AffineExpr> a = factors(among(1, 4)), b = factors(among(1, 2));
    AffineExpr quotient = size::wholeDiv(a, b);
    if (!quotient)
      continue;
    ++found;
    llvm::SmallBitVector divided; // the symbols in divisions of b
    for (AffineExpr factor : b)
      factor.walk([&](AffineExpr part) {
        if (part.getKind() == AffineExprKind::FloorDiv)
          collectSymbols(part, divided);
      });
    forAll({1, 1, 1}, {9, 9, 9}, [&](const Values &values) {
      auto whole = [&](AffineExpr factor) { return isWhole(factor, values); };
      // What has nothing to do with the divisor's divisions may round down.
      auto wholeBeside = [&](AffineExpr factor) { return isWhole(factor, values, &divided); };
      if (!llvm::all_of(a, wholeBeside) || !llvm::all_of(b, whole) || HasFailure())
        return;
      auto productOf = [&](ArrayRef<AffineExpr> list) {
        Wide result = 1;
        for (AffineExpr factor : list)
          result *= *size::evaluate(factor, values);
        return result;
      };
      std::optional<int64_t> value = size::evaluate(quotient, values);
      ++checked;
      std::string text;
      for (AffineExpr factor : a)
        text += " (" + textOf(factor) + ")";
      text += " over";
      for (AffineExpr factor : b)
        text += " (" + textOf(factor) + ")";
      ASSERT_TRUE(value && Wide(*value) * productOf(b) == productOf(a))
          << text << " is " << textOf(quotient) << " for " << values[0] << ", " << values[1] << ", " << values[2];
    });
  }
  EXPECT_GT(found, 100);
  EXPECT_GT(checked, 3000);
}

// Numbers that do not fit are null, and never other numbers.
TEST_F(SizeMath, WhatOverflowsIsNothing) {
  int64_t kept = 0, refused = 0;
  for (int round = 0; round < 4000 && !HasFailure(); ++round) {
    TreePtr t = tree(int(among(1, 3)), int64_t(1) << among(20, 58));
    AffineExpr expr = computed(*t, &context);
    if (!expr) {
      ++refused;
      continue;
    }
    size::lowerBound(expr), size::upperBound(expr);
    forAll({1, 1, 1}, {4, 4, 4}, [&](const Values &values) {
      MaybeWide want = valueOf(*t, values);
      std::optional<int64_t> got = size::evaluate(expr, values);
      if (!want || !got || HasFailure())
        return;
      ++kept;
      ASSERT_TRUE(*got == *want) << textOf(expr) << " is " << *got << " for " << values[0] << ", " << values[1] << ", "
                                 << values[2];
    });
  }
  EXPECT_GT(kept, 10000);
  EXPECT_GT(refused, 50);
}

} // namespace
} // namespace fathom::graph
