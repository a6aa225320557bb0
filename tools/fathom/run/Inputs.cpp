// Inputs from files and from a counting generator, which gives the same values on every machine.
#include "tools/fathom/run/Inputs.h"
#include "tools/fathom/run/SmallNumbers.h"

#include "tools/fathom/Terminal.h"
#include "tools/fathom/run/SizeExpression.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/StringSet.h"
#include <cmath>
#include <numeric>

using namespace llvm;

namespace fathom {

static uint64_t splitmix64(uint64_t seed, uint64_t index) {
  uint64_t x = seed + (index + 1) * 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

// Nearly normal, from twelve 16-bit numbers: sums of integers are exact everywhere, logarithms and cosines are not.
static double normal(uint64_t seed, uint64_t index) {
  int64_t sum = 0;
  for (int draw = 0; draw < 3; ++draw) {
    uint64_t bits = splitmix64(seed, 3 * index + draw);
    for (int part = 0; part < 4; ++part)
      sum += (bits >> (16 * part)) & 0xffff;
  }
  return double(sum - 6 * 65535) / 65536.0;
}

// Which integers to draw: `count` of them from `low` on. A count of 0 is the type's whole range.
struct IntegerRange {
  int64_t low = 0;
  uint64_t count = 0;
};

// How many integers to draw from where the model does not say; 0: all, for pixels and quantised values.
static uint64_t integerBound(const TensorSpec &spec, uint64_t bound) {
  if (spec.dtype == FATHOM_BOOL)
    return 2;
  if (fathom_dtype_bytes(spec.dtype) == 1)
    return 0;
  // Masks and segment numbers select between two.
  if (StringRef(spec.name).contains("mask") || StringRef(spec.name).contains("token_type"))
    return std::min<uint64_t>(bound, 2);
  return bound;
}

template <typename T> static void store(Array &array, int64_t index, T value) {
  reinterpret_cast<T *>(array.data())[index] = value;
}

static void storeHalf(Array &array, int64_t index, double value, const fltSemantics &semantics) {
  APFloat number(value);
  bool inexact;
  number.convert(semantics, APFloat::rmNearestTiesToEven, &inexact);
  store(array, index, uint16_t(number.bitcastToAPInt().getZExtValue()));
}

// Some of the strings that the model knows.
static void fillStrings(Array &array, uint64_t seed, ArrayRef<std::string> known) {
  std::vector<std::string> strings;
  for (int64_t i = 0; i < array.elements; ++i)
    strings.push_back(known.empty() ? "" : known[(splitmix64(seed, i) >> 32) % known.size()]);
  array.setStrings(std::move(strings));
}

static void fillRandom(Array &array, uint64_t seed, const IntegerRange &range) {
  for (int64_t i = 0; i < array.elements; ++i) {
    if (isSmallDtype(array.dtype)) {
      store(array, i, drawSmall(array.dtype, normal(seed, i), splitmix64(seed, i) >> 32));
      continue;
    }
    switch (array.dtype) {
    case FATHOM_F32:
      store(array, i, float(normal(seed, i)));
      continue;
    case FATHOM_F64:
      store(array, i, normal(seed, i));
      continue;
    case FATHOM_F16:
      storeHalf(array, i, normal(seed, i), APFloat::IEEEhalf());
      continue;
    case FATHOM_BF16:
      storeHalf(array, i, normal(seed, i), APFloat::BFloat());
      continue;
    }
    uint64_t bits = splitmix64(seed, i);
    uint64_t value = range.low + (range.count ? (bits >> 32) % range.count : bits >> 32);
    switch (fathom_dtype_bytes(array.dtype)) {
    case 1:
      store(array, i, uint8_t(value));
      break;
    case 2:
      store(array, i, uint16_t(value));
      break;
    case 4:
      store(array, i, uint32_t(value));
      break;
    default:
      store(array, i, value);
    }
  }
}

namespace {

class Gatherer {
public:
  Gatherer(LoadedModel &model, const OptionValues &options) : model(model), options(options) {}

  Expected<std::vector<Array>> gather() {
    values.resize(model.inputs.size());
    given.resize(model.inputs.size());
    if (Error error = readFiles())
      return std::move(error);
    if (Error error = readDims())
      return std::move(error);
    for (const SymbolSpec &symbol : model.symbols)
      if (!sizes.count(symbol.name))
        free.push_back(&symbol);
    if (Error error = allocateAll())
      return std::move(error);
    if (Error error = fill())
      return std::move(error);
    return std::move(values);
  }

private:
  Error readFiles() {
    for (const std::string &text : options.all("input")) {
      auto [name, path] = StringRef(text).split("=@");
      if (name.empty() || path.empty())
        return fail(usageError, "--input " + text + " is not NAME=@FILE.npy");
      auto found = find_if(model.inputs, [&](const TensorSpec &spec) { return spec.name == name; });
      if (found == model.inputs.end())
        return fail(ErrorCode::BadInput, "the model has no input '" + name + "'", "its inputs are " + inputNames());
      size_t index = found - model.inputs.begin();
      if (given[index])
        return fail(ErrorCode::BadInput, "input '" + name + "' is given twice");
      Expected<Array> value = readNpy(path);
      if (!value)
        return value.takeError();
      // Files know the bytes of small types, not what they are.
      if (isSmallDtype(found->dtype) && value->dtype == FATHOM_U8)
        value->dtype = found->dtype;
      if (Error error = match(*found, *value))
        return error;
      values[index] = std::move(*value);
      given[index] = true;
    }
    return Error::success();
  }

  // Says by the input's name what the runtime would say by its number, and takes the sizes of symbols from the file.
  Error match(const TensorSpec &spec, const Array &value) {
    if (value.dtype != spec.dtype)
      return fail(ErrorCode::BadInput, "input '" + spec.name + "' is " + fathom_dtype_name(spec.dtype) +
                                           ", the file has " + fathom_dtype_name(value.dtype));
    bool fits = value.dims.size() == spec.dims.size();
    for (size_t axis = 0; fits && axis < spec.dims.size(); ++axis) {
      fits = spec.dims[axis] < 0 || spec.dims[axis] == value.dims[axis];
      if (spec.dims[axis] < 0)
        sizes.try_emplace(spec.dimNames[axis], value.dims[axis]);
    }
    if (!fits)
      return fail(ErrorCode::BadInput, "input '" + spec.name + "' has shape " + spellShape(spec) + ", the file has " +
                                           spellDims(value.dims));
    return Error::success();
  }

  Error readDims() {
    auto dims = parseDims(options);
    if (!dims)
      return fail(usageError, toString(dims.takeError()));
    for (auto &[name, size] : *dims) {
      bool known = any_of(model.inputs, [&, name = name](const TensorSpec &spec) {
        return any_of(enumerate(spec.dims),
                      [&](auto dim) { return dim.value() < 0 && spec.dimNames[dim.index()] == name; });
      });
      if (!known)
        return fail(ErrorCode::BadInput, "the model has no symbolic dimension '" + name + "'",
                    model.symbols.empty() ? "all its dimensions are fixed" : "it has " + symbolNames());
      if (auto [entry, added] = sizes.try_emplace(name, size); !added && entry->second != size)
        return fail(ErrorCode::BadInput, "--dim " + name + "=" + Twine(size) + " differs from the size " +
                                             Twine(entry->second) + " in an input's file");
    }
    return Error::success();
  }

  int64_t sizeOf(const std::string &dimName) {
    if (auto found = sizes.find(dimName); found != sizes.end())
      return found->second;
    // As many values as elements.
    if (StringRef of = dimName; of.consume_back(".values"))
      if (auto length = sizes.find((of + ".length").str()); length != sizes.end())
        return length->second;
    for (const SymbolSpec &symbol : model.symbols)
      if (symbol.name == dimName)
        return usualSize(symbol);
    return 1;
  }

  // What the model was compiled to be good at, or the least from 1 on.
  static int64_t usualSize(const SymbolSpec &symbol) {
    return symbol.likely ? symbol.likely : std::clamp<int64_t>(1, symbol.min, symbol.max);
  }

  Error allocateAll() {
    for (size_t i = 0; i < values.size(); ++i)
      if (!given[i])
        if (Error error = allocate(i))
          return error;
    return Error::success();
  }

  Error allocate(size_t index) {
    const TensorSpec &spec = model.inputs[index];
    for (auto [size, name] : zip(spec.dims, spec.dimNames))
      if (size < 0)
        sizes[name] = sizeOf(name);
    Expected<Array> value = Array::create(spec.dtype, dimsOf(index));
    if (!value)
      return value.takeError();
    values[index] = std::move(*value);
    return Error::success();
  }

  SmallVector<int64_t> dimsOf(size_t index) {
    const TensorSpec &spec = model.inputs[index];
    if (given[index])
      return values[index].dims;
    SmallVector<int64_t> dims;
    for (auto [size, name] : zip(spec.dims, spec.dimNames))
      dims.push_back(size < 0 ? sizeOf(name) : size);
    return dims;
  }

  Error checkSizes() {
    return model.checkSizes(map_to_vector(seq(model.inputs.size()), [this](size_t index) { return dimsOf(index); }));
  }
  // Whether they go together, and inputs of them are not too large to try.
  bool sizesFit() {
    double elements = 0;
    for (size_t index : seq(model.inputs.size())) {
      SmallVector<int64_t> dims = dimsOf(index);
      elements += std::accumulate(dims.begin(), dims.end(), 1.0, std::multiplies<>());
    }
    Error error = elements <= 1 << 26 ? checkSizes() : fail(ErrorCode::BadInput, "too many elements");
    bool fits = !error;
    consumeError(std::move(error));
    return fits;
  }

  // An element of a sequence is one value, and what is optional is there.
  void fillParts() {
    for (auto [i, spec] : enumerate(model.inputs)) {
      if (given[i])
        continue;
      if (spec.part == "present")
        *values[i].data() = 1;
      if (spec.part == "shapes")
        std::fill_n(reinterpret_cast<int64_t *>(values[i].data()), values[i].elements, 1);
    }
  }

  // What the model says of an input's integers, for the sizes of this run.
  std::optional<IntegerRange> declaredRange(const TensorSpec &spec) {
    double low = -INFINITY, high = INFINITY;
    for (const auto &[first, last] : spec.values) {
      low = std::max(low, evaluate(&first, sizes).value_or(-INFINITY));
      high = std::min(high, evaluate(&last, sizes).value_or(INFINITY));
    }
    if (!std::isfinite(low) || !std::isfinite(high))
      return std::nullopt;
    return IntegerRange{int64_t(low), uint64_t(std::max(1.0, high - low + 1))};
  }
  IntegerRange rangeOf(const TensorSpec &spec, uint64_t bound) {
    if (std::optional<IntegerRange> declared = declaredRange(spec))
      return *declared;
    if (masksAreOnes && fathom_dtype_bytes(spec.dtype) > 1 && StringRef(spec.name).contains("mask"))
      return {1, 1};
    return {0, integerBound(spec, bound)};
  }

  // Where the model does not say which integers it takes, they must be small enough for what they select from, which
  // only a run can tell.
  Expected<Fit> fillOnce(bool tries) {
    fillParts();
    for (uint64_t bound : {100, 2, 1}) {
      for (auto [i, spec] : enumerate(model.inputs))
        if (!given[i] && spec.part != "shapes" && spec.part != "present") {
          uint64_t seed = splitmix64(options.integer("seed"), i);
          if (spec.dtype == FATHOM_STRING)
            fillStrings(values[i], seed, model.strings);
          else
            fillRandom(values[i], seed, rangeOf(spec, bound));
        }
      if (!tries)
        break;
      Expected<Fit> fit = model.tryRun(values);
      if (!fit || *fit != Fit::BadIndex)
        return fit;
    }
    return Fit::Good;
  }

  // Nor does it say which sizes go together, such as a mask's with that of a cache and the tokens behind it. Where the
  // usual ones do not, one that nobody gave is made a little larger, and masks leave nothing out; then all that count
  // no batches are made equal, for windows and patches. The Python package tries the same in the same order.
  Error fill() {
    bool integers = false;
    for (auto [i, spec] : enumerate(model.inputs))
      integers |= !given[i] && spec.part.empty() && (spec.dtype == FATHOM_I32 || spec.dtype == FATHOM_I64) &&
                  !declaredRange(spec);
    bool goTogether = free.empty() || sizesFit();
    bool tries = integers || free.size() > 1 || !goTogether;
    Expected<Fit> fit = fillOnce(tries);
    if (!fit || *fit == Fit::Good)
      return fit.takeError();
    masksAreOnes = true;
    Sizes usual = sizes;
    SmallVector<std::pair<const SymbolSpec *, int64_t>> changes{{nullptr, 0}};
    for (int64_t more : {1, 2, 3})
      for (const SymbolSpec *symbol : free)
        if (usualSize(*symbol) + more <= symbol->max)
          changes.emplace_back(symbol, usualSize(*symbol) + more);
    for (auto [symbol, size] : changes) {
      sizes = usual;
      if (symbol)
        sizes[symbol->name] = size;
      if (Error error = allocateAll())
        return error;
      fit = fillOnce(tries);
      if (!fit || *fit == Fit::Good)
        return fit.takeError();
    }
    sizes = usual;
    if (!goTogether && makeEqual()) {
      if (Error error = allocateAll())
        return error;
      fit = fillOnce(tries);
      if (!fit || *fit == Fit::Good)
        return fit.takeError();
    }
    // The run says what is wrong with the usual ones.
    masksAreOnes = false;
    sizes = usual;
    if (!goTogether)
      if (Error error = checkSizes())
        return withHint(std::move(error));
    if (Error error = allocateAll())
      return error;
    return fillOnce(/*tries=*/false).takeError();
  }

  // Whether one size does for all that nobody gave and that do not only count what lies along the first axis. Sizes
  // alone cost little to try.
  bool makeEqual() {
    StringSet<> others;
    for (const TensorSpec &spec : model.inputs)
      for (const std::string &name : drop_begin(spec.dimNames, !spec.dimNames.empty()))
        others.insert(name);
    for (int64_t size = 2; size <= 256; ++size) {
      for (const SymbolSpec *symbol : free)
        if (others.contains(symbol->name))
          sizes[symbol->name] = std::clamp(size, symbol->min, symbol->max);
      if (sizesFit())
        return true;
    }
    return false;
  }

  Error withHint(Error error) {
    std::string dims;
    for (const SymbolSpec &symbol : model.symbols)
      dims += " --dim " + symbol.name + "=SIZE";
    return handleErrors(std::move(error), [&](const Failure &failure) {
      return fail(failure.code, failure.message, "say sizes that go together:" + dims);
    });
  }

  std::string inputNames() {
    return join(map_range(model.inputs, [](const TensorSpec &spec) { return "'" + spec.name + "'"; }), ", ");
  }
  std::string symbolNames() {
    return join(map_range(model.symbols, [](const SymbolSpec &symbol) { return "'" + symbol.name + "'"; }), ", ");
  }
  static std::string spellShape(const TensorSpec &spec) {
    std::string text = "[";
    for (auto [axis, size] : enumerate(spec.dims))
      text += (axis ? "," : "") + (size < 0 ? spec.dimNames[axis] : std::to_string(size));
    return text + "]";
  }

  LoadedModel &model;
  const OptionValues &options;
  std::vector<Array> values;
  SmallVector<bool> given;
  Sizes sizes;                          // of symbolic dimensions, as far as they are known
  SmallVector<const SymbolSpec *> free; // those whose size nobody gave
  bool masksAreOnes = false;
};

} // namespace

Expected<std::vector<Array>> gatherInputs(LoadedModel &model, const OptionValues &options) {
  return Gatherer(model, options).gather();
}

} // namespace fathom
