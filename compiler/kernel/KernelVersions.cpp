// Which sizes deserve a schedule of their own, by a rough estimate of what schedules made for other sizes cost there.
#include "compiler/kernel/KernelVersions.h"

#include "compiler/graph/SizeMath.h"
#include "compiler/kernel/Choices.h"
#include <cmath>
#include <numeric>

using namespace mlir;
using namespace fathom::graph;

namespace fathom {

// Every version is code of its own, so there are few.
constexpr size_t maxVersions = 3;

AffineExpr contractRows(Operation *anchor) {
  Sizes sizes = sizesOf(anchor->getResult(0)), rows;
  if (isa<ConvOp, ConvTransposeOp>(anchor)) {
    rows = sizes;
    rows.erase(rows.begin() + 1);
    return product(rows, anchor->getContext());
  }
  // As far as the right operand is the same for all of them.
  Sizes right = sizesOf(anchor->getOperand(1));
  bool isBatched = llvm::any_of(ArrayRef(right).drop_back(2), [](AffineExpr size) { return !isConstant(size, 1); });
  rows.assign(isBatched ? sizes.end() - 2 : sizes.begin(), sizes.end() - 1);
  return product(rows, anchor->getContext());
}

namespace {

// Values of the kernel's symbols for which the extent is about `wanted`: all that it depends on grow together as long
// as it is less, then the last one alone.
SmallVector<Symbol> symbolsAt(const SymbolList &symbols, AffineExpr extent, int64_t wanted) {
  llvm::SmallBitVector used;
  collectSymbols(extent, used);
  auto scaled = [&](double factor) {
    SmallVector<Symbol> result = symbols.vec();
    for (unsigned i : used.set_bits()) {
      Symbol &symbol = result[i];
      double usual = symbol.likely ? symbol.likely : 128;
      symbol.likely = std::clamp<double>(std::round(usual * factor), std::max<int64_t>(1, symbol.min), symbol.max);
    }
    return result;
  };
  auto isReached = [&](ArrayRef<Symbol> at) {
    SmallVector<int64_t> values;
    for (const Symbol &symbol : at)
      values.push_back(symbol.likely);
    return size::evaluate(extent, values).value_or(INT64_MAX) >= wanted;
  };
  double low = 1e-10, high = 1e10;
  for (int step = 0; step < 80; ++step) {
    double middle = std::sqrt(low * high);
    (isReached(scaled(middle)) ? high : low) = middle;
  }
  SmallVector<Symbol> result = scaled(low);
  Symbol &last = result[used.find_last()];
  int64_t below = last.likely;
  last.likely = std::min(last.max, wanted);
  while (below < last.likely) {
    int64_t above = last.likely;
    last.likely = below + (above - below) / 2;
    if (!isReached(result))
      below = last.likely + 1, last.likely = above;
  }
  return result;
}

// The schedules that serve sizes best, each with the end of the sizes that it serves: loss[c][i] is what schedule c
// loses at size i, and every schedule after the first must gain `price`.
std::vector<std::pair<size_t, size_t>> cover(const std::vector<std::vector<double>> &loss, double price) {
  size_t sizes = loss[0].size();
  struct Served {
    double loss = std::numeric_limits<double>::infinity();
    size_t begin = 0, schedule = 0;
  };
  // best[k][i]: the sizes before i by k schedules, the last of which serves from `begin` on.
  std::vector<std::vector<Served>> best(maxVersions + 2, std::vector<Served>(sizes + 1));
  best[0][0].loss = 0;
  auto extend = [&](size_t count, size_t begin, size_t schedule) {
    double sum = best[count - 1][begin].loss + (count > 1 ? price : 0);
    for (size_t end = begin + 1; end <= sizes; ++end) {
      sum += loss[schedule][end - 1];
      if (sum < best[count][end].loss)
        best[count][end] = {sum, begin, schedule};
    }
  };
  for (size_t count = 1; count < best.size(); ++count)
    for (size_t begin = count - 1; begin < sizes; ++begin)
      for (size_t schedule = 0; schedule < loss.size(); ++schedule)
        extend(count, begin, schedule);
  auto last = llvm::min_element(best, [&](const auto &a, const auto &b) { return a[sizes].loss < b[sizes].loss; });
  std::vector<std::pair<size_t, size_t>> chosen(last - best.begin());
  for (size_t count = chosen.size(), end = sizes; count > 0; end = best[count--][end].begin)
    chosen[count - 1] = {best[count][end].schedule, end};
  return chosen;
}

// Where schedules are compared: 1, 2, 3, 4, 6, 8, 12, ..., as far as the extent can have them, and the likely size.
std::vector<int64_t> sizesOf(AffineExpr extent, const SymbolList &symbols, std::optional<int64_t> likely) {
  // What is made for a larger size differs little from what is made for this one.
  constexpr int64_t largest = 4096;
  int64_t least = std::max<int64_t>(1, size::lowerBound(extent, symbols).value_or(1));
  int64_t most = size::upperBound(extent, symbols).value_or(INT64_MAX);
  std::vector<int64_t> sizes{std::clamp(largest, least, most)};
  for (int64_t power = 1; power < largest; power *= 2)
    for (int64_t size : {power, power + power / 2})
      if (size >= least && size <= most)
        sizes.push_back(size);
  if (likely)
    sizes.push_back(*likely);
  llvm::sort(sizes);
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  return sizes;
}

} // namespace

std::vector<Version> chooseVersions(func::FuncOp kernel, const KernelClass &klass, Operation *anchor,
                                    const Target &target, Schedule &schedule) {
  AffineExpr extent = klass.extent ? klass.extent(anchor) : AffineExpr();
  if (!extent || constantSize(extent))
    return {};
  SymbolList symbols = symbolsOf(kernel);
  SmallVector<int64_t> said;
  for (const Symbol &symbol : symbols)
    said.push_back(symbol.likely);
  // Padding would make something even of sizes of which nothing is said.
  llvm::SmallBitVector used;
  collectSymbols(extent, used);
  std::optional<int64_t> likely;
  if (llvm::all_of(used.set_bits(), [&](unsigned i) { return said[i] > 0; }))
    likely = size::evaluate(extent, said);
  if (likely.value_or(0) < 1)
    likely.reset();
  std::vector<int64_t> sizes = sizesOf(extent, symbols, likely);
  std::vector<std::unique_ptr<Space>> spaces;
  std::vector<Schedule> made;
  for (int64_t size : sizes) {
    setSymbols(kernel, symbolsAt(symbols, extent, size));
    spaces.push_back(klass.family.spaceOf(anchor, target));
    made.push_back(spaces.back()->best());
  }
  setSymbols(kernel, symbols);

  // The size to be good at counts as much as many others.
  double likelyWeight = target.calibration.versionsLikelyWeight;
  std::vector<std::vector<double>> loss(made.size(), std::vector<double>(sizes.size()));
  for (size_t i = 0; i < sizes.size(); ++i) {
    double fastest = std::numeric_limits<double>::infinity();
    for (size_t c = 0; c < made.size(); ++c)
      fastest = std::min(fastest, loss[c][i] = spaces[i]->score(made[c]));
    for (size_t c = 0; c < made.size(); ++c)
      loss[c][i] = std::log(loss[c][i] / fastest) * (sizes[i] == likely ? likelyWeight : 1);
  }
  // A version is code to compile and to load.
  std::vector<Version> versions;
  for (auto [chosen, end] : cover(loss, target.calibration.versionsPrice))
    versions.push_back({sizes[end - 1], made[chosen]});
  schedule = versions.back().schedule;
  versions.pop_back();
  return versions;
}

llvm::Error checkVersions(ArrayRef<Version> versions, const KernelClass &klass, Operation *anchor,
                          const Target &target) {
  if (versions.empty())
    return llvm::Error::success();
  AffineExpr extent = klass.extent ? klass.extent(anchor) : AffineExpr();
  if (!extent || constantSize(extent))
    return llvm::createStringError("it has no versions: its size is known, or its class makes no difference of it");
  if (versions.size() > maxVersions)
    return llvm::createStringError("it has %zu versions; %zu is the limit", versions.size(), maxVersions);
  int64_t before = size::lowerBound(extent, symbolsFor(anchor)).value_or(0) - 1;
  std::unique_ptr<Space> space = klass.family.spaceOf(anchor, target);
  for (const Version &version : versions) {
    if (version.upTo <= before)
      return llvm::createStringError("up_to = %lld: there are more than %lld %s here", (long long)version.upTo,
                                     (long long)before, klass.extentName.data());
    before = version.upTo;
    if (llvm::Error error = checkSchedule(klass, version.schedule, *space))
      return llvm::createStringError("up_to = %lld: %s", (long long)version.upTo,
                                     llvm::toString(std::move(error)).c_str());
  }
  return llvm::Error::success();
}

} // namespace fathom
