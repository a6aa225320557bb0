// The C++ interface of Fathom's runtime, over fathom_rt.h: owners, spans and exceptions. C++20, this header alone.
//
//   fathom::Model model("model.fathom");
//   fathom::Session session(model);
//   std::vector<fathom::Tensor> outputs = session.run({fathom::view<float>(values, {1, 3, 224, 224})});
//   std::span<const float> scores = outputs[0].as<float>();
#ifndef FATHOM_HPP
#define FATHOM_HPP

#include "fathom_rt.h"

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <new>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace fathom {

// What a call of the runtime failed with.
class Error : public std::runtime_error {
public:
  explicit Error(const fathom_status *status)
      : std::runtime_error(fathom_status_message(status)), kind(fathom_status_code(status)),
        nodes(fathom_status_node(status)) {}
  Error(fathom_code code, const std::string &message) : std::runtime_error(message), kind(code) {}

  fathom_code code() const { return kind; }
  // Such as 1011, for F1011 of the list of errors.
  int32_t number() const { return fathom_code_number(kind); }
  // The ONNX node that a run ended at, or empty.
  const std::string &node() const { return nodes; }

private:
  fathom_code kind;
  std::string nodes;
};

namespace detail {

inline void check(fathom_status *status) {
  if (!status)
    return;
  struct Owner {
    fathom_status *status;
    ~Owner() { fathom_status_free(status); }
  } owner{status};
  throw Error(status);
}

// Room for elements of any type, as vectors of the machine want it.
struct FreeAligned {
  void operator()(std::byte *memory) const { ::operator delete[](memory, std::align_val_t(64)); }
};
using Memory = std::unique_ptr<std::byte[], FreeAligned>;
inline Memory allocate(size_t bytes) {
  return Memory(static_cast<std::byte *>(::operator new[](bytes ? bytes : 1, std::align_val_t(64))));
}

// Of sizes that are known.
inline size_t elementsOf(std::span<const int64_t> shape) {
  size_t count = 1;
  for (int64_t size : shape)
    if (size < 0 || __builtin_mul_overflow(count, size_t(size), &count))
      throw Error(FATHOM_ERROR_SHAPE, "a shape is negative or too large");
  return count;
}

inline size_t bytesOf(std::span<const int64_t> shape, int32_t dtype) {
  size_t bytes = 0;
  if (__builtin_mul_overflow(elementsOf(shape), fathom_dtype_bytes(dtype), &bytes))
    throw Error(FATHOM_ERROR_SHAPE, "a shape is too large");
  return bytes;
}

template <typename T> constexpr bool fits(int32_t dtype) {
  using U = std::remove_cv_t<T>;
  switch (dtype) {
  case FATHOM_F32:
    return std::is_same_v<U, float>;
  case FATHOM_F64:
    return std::is_same_v<U, double>;
  case FATHOM_I8:
    return std::is_same_v<U, int8_t>;
  case FATHOM_U8:
    return std::is_same_v<U, uint8_t>;
  case FATHOM_I16:
    return std::is_same_v<U, int16_t>;
  case FATHOM_U16:
    return std::is_same_v<U, uint16_t>;
  case FATHOM_I32:
    return std::is_same_v<U, int32_t>;
  case FATHOM_U32:
    return std::is_same_v<U, uint32_t>;
  case FATHOM_I64:
    return std::is_same_v<U, int64_t>;
  case FATHOM_U64:
    return std::is_same_v<U, uint64_t>;
  case FATHOM_BOOL:
    return std::is_same_v<U, bool>;
  case FATHOM_STRING:
    return std::is_same_v<U, fathom_string>;
  // Their bits, as no type of C++20 has them.
  case FATHOM_F16:
  case FATHOM_BF16:
    return std::is_same_v<U, uint16_t>;
  default:
    return std::is_same_v<U, uint8_t>;
  }
}

template <typename T> constexpr int32_t dtypeOf() {
  for (int32_t dtype : {FATHOM_F32, FATHOM_F64, FATHOM_I8, FATHOM_U8, FATHOM_I16, FATHOM_U16, FATHOM_I32, FATHOM_U32,
                        FATHOM_I64, FATHOM_U64, FATHOM_BOOL, FATHOM_STRING})
    if (fits<T>(dtype))
      return dtype;
  return 0;
}

} // namespace detail

// A tensor of somebody else's memory, which must stay as long as it is used.
struct TensorView {
  const void *data;
  int32_t dtype;
  std::vector<int64_t> shape;
  size_t bytes;
};

template <typename T> TensorView view(std::span<const T> values, std::vector<int64_t> shape, int32_t dtype = 0) {
  if (!dtype)
    dtype = detail::dtypeOf<T>();
  if (!detail::fits<T>(dtype))
    throw Error(FATHOM_ERROR_INVALID_ARGUMENT, "the elements are not of the data type given");
  if (detail::elementsOf(shape) != values.size())
    throw Error(FATHOM_ERROR_SHAPE, "the shape has another number of elements than the values");
  return {values.data(), dtype, std::move(shape), values.size_bytes()};
}
template <typename T, typename Container> TensorView view(const Container &values, std::vector<int64_t> shape) {
  return view<T>(std::span<const T>(values), std::move(shape));
}

// A tensor with memory of its own.
class Tensor {
public:
  Tensor(int32_t dtype, std::vector<int64_t> shape)
      : kind(dtype), sizes(std::move(shape)), size(detail::bytesOf(sizes, dtype)), memory(detail::allocate(size)) {}

  int32_t dtype() const { return kind; }
  std::span<const int64_t> shape() const { return sizes; }
  size_t bytes() const { return size; }
  void *data() { return memory.get(); }
  const void *data() const { return memory.get(); }

  // The elements; an Error where they are of another type.
  template <typename T> std::span<T> as() {
    checkType<T>();
    return {reinterpret_cast<T *>(memory.get()), size / sizeof(T)};
  }
  template <typename T> std::span<const T> as() const {
    checkType<T>();
    return {reinterpret_cast<const T *>(memory.get()), size / sizeof(T)};
  }
  operator TensorView() const { return {memory.get(), kind, sizes, size}; }

private:
  template <typename T> void checkType() const {
    if (!detail::fits<T>(kind))
      throw Error(FATHOM_ERROR_INVALID_ARGUMENT, std::string("the tensor is of type ") + fathom_dtype_name(kind));
  }

  int32_t kind;
  std::vector<int64_t> sizes;
  size_t size;
  detail::Memory memory;
};

// What a model takes or gives. -1 is a size that is known only at run time; its name is in `symbols`, or "".
struct TensorInfo {
  std::string name;
  int32_t dtype;
  std::vector<int64_t> shape;
  std::vector<std::string> symbols;
};

// A compiled model. It never changes; copies are the same model, and threads may share it.
class Model {
public:
  // An artifact is native code: load only what you trust.
  explicit Model(const std::string &path) {
    fathom_model *loaded = nullptr;
    detail::check(fathom_model_load(path.c_str(), &loaded));
    owner = {loaded, fathom_model_free};
  }

  fathom_model *get() const { return owner.get(); }
  std::string_view variant() const { return fathom_model_variant(get()); }
  std::string_view manifest() const { return fathom_model_manifest(get()); }
  std::vector<TensorInfo> inputs() const { return infos(fathom_model_input_count(get()), fathom_model_input); }
  std::vector<TensorInfo> outputs() const { return infos(fathom_model_output_count(get()), fathom_model_output); }

private:
  template <typename Get> std::vector<TensorInfo> infos(size_t count, Get get) const {
    std::vector<TensorInfo> result;
    for (size_t i = 0; i < count; ++i) {
      fathom_tensor_info info;
      detail::check(get(owner.get(), i, &info));
      TensorInfo &entry =
          result.emplace_back(TensorInfo{info.name, info.dtype, {info.dims, info.dims + info.rank}, {}});
      for (int32_t d = 0; d < info.rank; ++d)
        entry.symbols.emplace_back(info.symbols[d] ? info.symbols[d] : "");
    }
    return result;
  }

  std::shared_ptr<fathom_model> owner;
};

// Runs a model, one run at a time: a thread that runs it beside others has a session of its own.
class Session {
public:
  // 0 threads: FATHOM_NUM_THREADS, or else the CPUs that this process may use.
  explicit Session(Model given, int32_t threads = 0) : Session(std::move(given), withThreads(threads)) {}
  Session(Model given, const fathom_context_options &options) : model(std::move(given)) {
    fathom_context *context = nullptr;
    detail::check(fathom_context_create(model.get(), &options, &context));
    owner.reset(context);
  }

  fathom_context *get() const { return owner.get(); }
  int32_t threads() const { return fathom_context_threads(get()); }

  // The shapes of the outputs for shapes of the inputs, -1 where data decides.
  std::vector<std::vector<int64_t>> outputShapes(std::span<const TensorView> inputs) const {
    checkInputs(inputs);
    std::vector<const int64_t *> given;
    for (const TensorView &input : inputs)
      given.push_back(input.shape.data());
    std::vector<std::vector<int64_t>> shapes;
    std::vector<int64_t *> wanted;
    for (size_t i = 0, count = fathom_model_output_count(model.get()); i < count; ++i) {
      fathom_tensor_info info;
      detail::check(fathom_model_output(model.get(), i, &info));
      shapes.emplace_back(size_t(info.rank));
    }
    for (std::vector<int64_t> &shape : shapes)
      wanted.push_back(shape.data());
    detail::check(fathom_context_output_dims(get(), given.data(), wanted.data()));
    return shapes;
  }

  // Inputs in the model's order.
  std::vector<Tensor> run(std::initializer_list<TensorView> inputs) { return run({inputs.begin(), inputs.size()}); }
  std::vector<Tensor> run(std::span<const TensorView> inputs) {
    std::vector<std::vector<int64_t>> shapes = outputShapes(inputs);
    std::vector<fathom_tensor> given = arguments(inputs), wanted;
    std::vector<Tensor> results;
    for (size_t i = 0; i < shapes.size(); ++i) {
      fathom_tensor_info info;
      detail::check(fathom_model_output(model.get(), i, &info));
      bool isKnown = true;
      for (int64_t size : shapes[i])
        isKnown &= size >= 0;
      results.emplace_back(info.dtype, isKnown ? shapes[i] : std::vector<int64_t>{0});
      fathom_tensor tensor = {results.back().data(), info.dtype, info.rank, shapes[i].data(), results.back().bytes()};
      if (!isKnown)
        tensor.data = nullptr, tensor.dims = nullptr, tensor.bytes = 0;
      wanted.push_back(tensor);
    }
    detail::check(fathom_context_run(get(), given.data(), given.size(), wanted.data(), wanted.size()));
    // What data decides the size of lies in the context until the next run.
    for (size_t i = 0; i < wanted.size(); ++i)
      if (!wanted[i].dims && wanted[i].rank) {
        fathom_tensor made;
        detail::check(fathom_context_output(get(), i, &made));
        Tensor copy(made.dtype, {made.dims, made.dims + made.rank});
        if (copy.bytes())
          __builtin_memcpy(copy.data(), made.data, copy.bytes());
        results[i] = std::move(copy);
      }
    return results;
  }

  // Into tensors that are there; allocates nothing once the arena has grown to the sizes in use.
  void run(std::span<const TensorView> inputs, std::span<Tensor> outputs) {
    checkInputs(inputs);
    std::vector<fathom_tensor> given = arguments(inputs), wanted;
    for (Tensor &output : outputs)
      wanted.push_back(
          {output.data(), output.dtype(), int32_t(output.shape().size()), output.shape().data(), output.bytes()});
    detail::check(fathom_context_run(get(), given.data(), given.size(), wanted.data(), wanted.size()));
  }

private:
  static fathom_context_options withThreads(int32_t threads) {
    fathom_context_options options = FATHOM_CONTEXT_OPTIONS_INIT;
    options.threads = threads;
    return options;
  }

  // The C interface reads as many sizes as the model has: what has fewer must not get there.
  void checkInputs(std::span<const TensorView> inputs) const {
    size_t count = fathom_model_input_count(model.get());
    if (inputs.size() != count)
      throw Error(FATHOM_ERROR_INVALID_ARGUMENT,
                  "the model takes " + std::to_string(count) + " inputs, not " + std::to_string(inputs.size()));
    for (size_t i = 0; i < count; ++i) {
      fathom_tensor_info info;
      detail::check(fathom_model_input(model.get(), i, &info));
      if (int32_t(inputs[i].shape.size()) != info.rank)
        throw Error(FATHOM_ERROR_SHAPE, std::string("input '") + info.name + "' has " + std::to_string(info.rank) +
                                            " dimensions, not " + std::to_string(inputs[i].shape.size()));
    }
  }

  static std::vector<fathom_tensor> arguments(std::span<const TensorView> tensors) {
    std::vector<fathom_tensor> result;
    for (const TensorView &tensor : tensors)
      result.push_back({const_cast<void *>(tensor.data), tensor.dtype, int32_t(tensor.shape.size()),
                        tensor.shape.data(), tensor.bytes});
    return result;
  }

  struct Free {
    void operator()(fathom_context *context) const { fathom_context_free(context); }
  };
  Model model;
  std::unique_ptr<fathom_context, Free> owner;
};

} // namespace fathom
#endif
