// Counting of addresses.
#include "compiler/analysis/Footprint.h"

#include "llvm/ADT/STLExtras.h"
#include <numeric>

using namespace mlir;

namespace fathom {
namespace {

using Strides = llvm::SmallVector<Stride>;

int64_t reach(llvm::ArrayRef<Stride> strides) {
  int64_t sum = 0;
  for (const Stride &stride : strides)
    sum += stride.bytes * (stride.count - 1);
  return sum;
}

// Sorted, and joined where one continues another: steps of 1 among 3 and of 2 among 5 are steps of 1 among 11.
Strides joined(Strides strides) {
  llvm::erase_if(strides, [](const Stride &stride) { return stride.count == 1 || stride.bytes == 0; });
  llvm::sort(strides, [](const Stride &x, const Stride &y) {
    return std::pair(x.bytes, x.count) < std::pair(y.bytes, y.count);
  });
  for (size_t i = 0; i + 1 < strides.size();) {
    Stride &inner = strides[i];
    const Stride &outer = strides[i + 1];
    int64_t times = outer.bytes / inner.bytes;
    if (outer.bytes % inner.bytes == 0 && times <= inner.count) {
      inner.count += times * (outer.count - 1);
      strides.erase(strides.begin() + i + 1);
    } else {
      ++i;
    }
  }
  return strides;
}

// The values of an expression.
class Values {
public:
  Values(const AccessGroup &group, const LoopTree &tree, llvm::function_ref<bool(unsigned)> active)
      : group(group), tree(tree), active(active) {}

  Strides of(AffineExpr expr) { return sum(expr, expr); }
  Strides ofWhole() { return sum(group.shape, AffineExpr()); }

private:
  const AccessGroup &group;
  const LoopTree &tree;
  llvm::function_ref<bool(unsigned)> active;

  // With the constants that are added to it, by `key`.
  Strides sum(AffineExpr expr, AffineExpr key) {
    Strides values = terms(expr);
    auto constants = group.constants.find(key);
    if (constants != group.constants.end())
      llvm::append_range(values, stridesOf(constants->second));
    return values;
  }

  Strides terms(AffineExpr expr) {
    if (auto dim = dyn_cast<AffineDimExpr>(expr))
      return active(dim.getPosition()) ? Strides{{1, tree.nodes[dim.getPosition()].trips}} : Strides();
    if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
      return unknown(symbol.getPosition());
    auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
    if (!binary)
      return {};
    AffineExpr left = binary.getLHS(), right = binary.getRHS();
    if (expr.getKind() == AffineExprKind::Add) {
      Strides all = terms(left);
      llvm::append_range(all, terms(right));
      return all;
    }
    auto number = dyn_cast<AffineConstantExpr>(right);
    if (!number)
      return {};
    int64_t by = std::abs(number.getValue());
    if (expr.getKind() == AffineExprKind::Mul) {
      Strides all = terms(left);
      for (Stride &stride : all)
        stride.bytes *= by;
      return all;
    }
    return divided(joined(of(left)), by, expr.getKind() == AffineExprKind::Mod);
  }

  // Another value in every iteration: as many places, of which none are neighbours.
  Strides unknown(unsigned symbol) {
    constexpr int64_t farApart = int64_t(1) << 24;
    int64_t count = 1;
    for (unsigned node = tree.symbols[symbol]; node != 0; node = tree.nodes[node].parent)
      if (active(node))
        count *= tree.nodes[node].trips;
    return {{farApart, count}};
  }

  static Strides divided(Strides values, int64_t by, bool wantsRest) {
    Strides whole, rest;
    for (const Stride &stride : values)
      (stride.bytes % by == 0 ? whole : rest).push_back(stride);
    int64_t range = reach(rest);
    if (wantsRest) {
      if (range < by)
        return rest;
      int64_t step = by;
      for (const Stride &stride : rest)
        step = std::gcd(step, stride.bytes);
      return {{step, by / step}};
    }
    for (Stride &stride : whole)
      stride.bytes /= by;
    whole.push_back({1, range / by + 1});
    return whole;
  }
};

// An expression without constants, which are put aside by the sums that they are in.
AffineExpr strip(AffineExpr expr, AffineExpr &constant, llvm::MapVector<AffineExpr, int64_t> &inner) {
  MLIRContext *context = expr.getContext();
  if (auto number = dyn_cast<AffineConstantExpr>(expr)) {
    constant = constant + number;
    return getAffineConstantExpr(0, context);
  }
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return expr;
  AffineExpr left = binary.getLHS(), right = binary.getRHS();
  switch (expr.getKind()) {
  case AffineExprKind::Add: {
    AffineExpr x = strip(left, constant, inner), y = strip(right, constant, inner);
    return x + y;
  }
  case AffineExprKind::Mul: {
    AffineExpr below = getAffineConstantExpr(0, context), x = strip(left, below, inner);
    constant = constant + below * right;
    return x * right;
  }
  default: {
    AffineExpr below = getAffineConstantExpr(0, context), x = strip(left, below, inner);
    auto number = dyn_cast<AffineConstantExpr>(below);
    inner[x] = number ? number.getValue() : 0;
    // Not simplified: the constant, which is a part of it, is elsewhere.
    return getAffineBinaryOpExpr(expr.getKind(), x, right);
  }
  }
}

int64_t valueAtZero(AffineExpr expr) {
  if (auto number = dyn_cast<AffineConstantExpr>(expr))
    return number.getValue();
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return 0;
  int64_t left = valueAtZero(binary.getLHS()), right = valueAtZero(binary.getRHS());
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    return left + right;
  case AffineExprKind::Mul:
    return left * right;
  case AffineExprKind::Mod:
    return right > 0 ? ((left % right) + right) % right : 0;
  default:
    return right > 0 ? (left - (((left % right) + right) % right)) / right : 0;
  }
}

} // namespace

llvm::SmallVector<Stride> stridesOf(llvm::ArrayRef<int64_t> sorted) {
  if (sorted.size() < 2)
    return {};
  int64_t step = sorted[1] - sorted[0];
  size_t length = 2;
  while (length < sorted.size() && sorted[length] - sorted[length - 1] == step)
    ++length;
  // These must be repeated as a whole; where they begin is again a sum of strides.
  bool isEven = sorted.size() % length == 0;
  llvm::SmallVector<int64_t> firsts;
  for (size_t i = 0; i < sorted.size() && isEven; ++i)
    if (i % length == 0)
      firsts.push_back(sorted[i]);
    else
      isEven = sorted[i] - sorted[i - 1] == step;
  if (!isEven)
    return {{(sorted.back() - sorted.front()) / int64_t(sorted.size() - 1), int64_t(sorted.size())}};
  Strides all{{step, int64_t(length)}};
  llvm::append_range(all, stridesOf(firsts));
  return all;
}

int64_t span(const ByteBox &box) { return reach(box.strides) + box.run; }

int64_t countBytes(ByteBox box, int64_t line) {
  // A gap that is shorter than a line leaves no line out.
  Strides strides = joined(box.strides);
  size_t first = 0;
  int64_t run = box.run;
  for (; first < strides.size() && strides[first].bytes - run < line; ++first)
    run += strides[first].bytes * (strides[first].count - 1);
  int64_t bytes = llvm::divideCeil(run, line) * line;
  int64_t most = llvm::divideCeil(span(box), line) * line;
  for (const Stride &stride : llvm::ArrayRef(strides).drop_front(first))
    bytes = std::min(bytes * stride.count, most);
  return bytes;
}

std::vector<AccessGroup> groupAccesses(const LoopTree &tree, unsigned node) {
  std::vector<AccessGroup> groups;
  for (const Access &access : tree.nodes[node].accesses) {
    AffineExpr constant = getAffineConstantExpr(0, access.offset.getContext());
    llvm::MapVector<AffineExpr, int64_t> inner;
    AffineExpr shape = strip(access.offset, constant, inner);
    auto outer = dyn_cast<AffineConstantExpr>(constant);
    inner[AffineExpr()] = outer ? outer.getValue() : 0;
    auto found = llvm::find_if(groups, [&](const AccessGroup &group) {
      return group.buffer == access.buffer && group.shape == shape && group.bytes == access.bytes;
    });
    if (found == groups.end()) {
      AccessGroup &group = groups.emplace_back();
      group.buffer = access.buffer, group.node = node, group.shape = shape, group.bytes = access.bytes;
      group.start = valueAtZero(access.offset);
      found = std::prev(groups.end());
    }
    found->start = std::min(found->start, valueAtZero(access.offset));
    (access.isWrite ? found->isWrite : found->isRead) = true;
    for (auto &[key, number] : inner)
      found->constants[key].push_back(number);
  }
  for (AccessGroup &group : groups)
    for (auto &[key, numbers] : group.constants) {
      llvm::sort(numbers);
      numbers.erase(llvm::unique(numbers), numbers.end());
    }
  return groups;
}

ByteBox boxOf(const AccessGroup &group, const LoopTree &tree, llvm::function_ref<bool(unsigned)> active) {
  return {joined(Values(group, tree, active).ofWhole()), group.bytes};
}

int64_t unionBytes(llvm::ArrayRef<const AccessGroup *> groups, const LoopTree &tree, int64_t line,
                   llvm::function_ref<bool(unsigned)> active) {
  struct Part {
    int64_t bytes, low, high;
  };
  llvm::SmallVector<Part> parts;
  for (const AccessGroup *group : groups) {
    ByteBox box = boxOf(*group, tree, active);
    parts.push_back({countBytes(box, line), group->start, group->start + span(box)});
  }
  llvm::sort(parts, [](const Part &x, const Part &y) {
    return std::tuple(y.bytes, x.low, x.high) < std::tuple(x.bytes, y.low, y.high);
  });
  int64_t sum = 0;
  for (auto [i, part] : llvm::enumerate(parts)) {
    int64_t covered = 0;
    for (const Part &before : llvm::ArrayRef(parts).take_front(i))
      covered = std::max(covered, std::min(part.high, before.high) - std::max(part.low, before.low));
    int64_t length = std::max<int64_t>(1, part.high - part.low);
    sum += int64_t(double(part.bytes) * double(length - covered) / double(length));
  }
  return sum;
}

} // namespace fathom
