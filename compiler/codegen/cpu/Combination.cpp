// Pairs are found in the matrix, and what they share is computed once.
#include "compiler/codegen/cpu/Combination.h"

using namespace mlir;

namespace fathom {

// Whether the entries agree but for signs, some of them equal and some opposite.
static bool isPair(llvm::function_ref<std::pair<double, double>(size_t)> entries, size_t count) {
  bool agree = false, differ = false;
  for (size_t i = 0; i < count; ++i) {
    auto [a, b] = entries(i);
    if (std::abs(a) != std::abs(b))
      return false;
    if (a != 0)
      (a == b ? agree : differ) = true;
  }
  return agree && differ;
}

Combination::Combination(Code &c, const TransformMatrix &matrix) : c(c), rows(matrix.rows) {
  // A pair of columns becomes the sum and the difference of its two inputs.
  for (size_t j = 0; j + 1 < rows[0].size(); ++j) {
    if (!isPair([&](size_t i) { return std::pair(rows[i][j], rows[i][j + 1]); }, rows.size()))
      continue;
    columnPairs.push_back(j);
    for (std::vector<double> &row : rows) {
      bool equal = row[j] == row[j + 1];
      row[j + 1] = equal ? 0 : row[j];
      row[j] = equal ? row[j] : 0;
    }
    ++j;
  }
}

SmallVector<Value> Combination::operator()(ArrayRef<Value> inputs) const {
  SmallVector<Value> x(inputs), results;
  for (size_t j : columnPairs)
    std::tie(x[j], x[j + 1]) = sumAndDifference(x[j], x[j + 1]);
  for (size_t i = 0; i < rows.size(); ++i) {
    bool paired =
        i + 1 < rows.size() && isPair([&](size_t j) { return std::pair(rows[i][j], rows[i + 1][j]); }, x.size());
    if (!paired) {
      results.push_back(sum(x, i, [](size_t) { return true; }));
      continue;
    }
    auto agree = [&](size_t j) { return rows[i][j] == rows[i + 1][j]; };
    auto [plus, minus] = sumAndDifference(sum(x, i, agree), sum(x, i, [&](size_t j) { return !agree(j); }));
    results.append({plus, minus});
    ++i;
  }
  return results;
}

std::pair<Value, Value> Combination::sumAndDifference(Value x, Value y) const {
  return {arith::AddFOp::create(c.b, c.loc, x, y), arith::SubFOp::create(c.b, c.loc, x, y)};
}

Value Combination::sum(ArrayRef<Value> x, size_t row, llvm::function_ref<bool(size_t)> takes) const {
  // A term with the factor one, if there is any, comes first: it needs no product.
  SmallVector<size_t> terms;
  for (size_t j = 0; j < x.size(); ++j)
    if (rows[row][j] != 0 && takes(j))
      terms.insert(rows[row][j] == 1 ? terms.begin() : terms.end(), j);
  Value total;
  for (size_t j : terms) {
    double factor = rows[row][j];
    Value number = c.number(x[j].getType(), factor);
    if (!total)
      total = factor == 1 ? x[j] : Value(arith::MulFOp::create(c.b, c.loc, x[j], number));
    else if (factor == 1)
      total = arith::AddFOp::create(c.b, c.loc, total, x[j]);
    else if (factor == -1)
      total = arith::SubFOp::create(c.b, c.loc, total, x[j]);
    else
      total = LLVM::FMulAddOp::create(c.b, c.loc, x[j], number, total);
  }
  return total;
}

} // namespace fathom
