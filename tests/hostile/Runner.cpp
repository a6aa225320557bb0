// Makes the calls that it reads from stdin and writes their outcomes to stdout: ARTIFACT... All memory that a model
// touches lies between pages that may not be touched, and there is little of it, so that a huge size is an error.
#include "runtime/fathom_rt.h"
#include "tests/conformance/GuardedBuffer.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

using namespace fathom::conformance;

namespace {

constexpr size_t memoryLimit = 64 << 20;

[[noreturn]] void giveUp(const std::string &why) {
  fprintf(stderr, "hostile_runner: %s\n", why.c_str());
  exit(1);
}

void check(fathom_status *status) {
  if (status)
    giveUp(fathom_status_message(status));
}

template <typename T> T receive() {
  T value;
  if (fread(&value, sizeof(value), 1, stdin) != 1)
    giveUp("the call ends too early");
  return value;
}

template <typename T> void send(T value) { fwrite(&value, sizeof(value), 1, stdout); }

// The guarded allocator, for as much as the limit allows.
struct LimitedAllocator {
  fathom_context_options guarded = FATHOM_CONTEXT_OPTIONS_INIT;

  static void *allocate(void *user, size_t bytes, size_t alignment) {
    return bytes > memoryLimit ? nullptr
                               : static_cast<LimitedAllocator *>(user)->guarded.allocate(nullptr, bytes, alignment);
  }
  static void deallocate(void *user, void *memory, size_t bytes) {
    static_cast<LimitedAllocator *>(user)->guarded.deallocate(nullptr, memory, bytes);
  }
};

struct Release {
  void operator()(fathom_model *model) const { fathom_model_free(model); }
  void operator()(fathom_context *context) const { fathom_context_free(context); }
  void operator()(fathom_status *status) const { fathom_status_free(status); }
};
using Status = std::unique_ptr<fathom_status, Release>;

// A model with a context for each kind of guard: one thread with the guard behind the data, two with it before.
struct Loaded {
  std::unique_ptr<fathom_model, Release> model;
  std::unique_ptr<LimitedAllocator> allocators[2];
  std::unique_ptr<fathom_context, Release> contexts[2];
  std::vector<int32_t> inputRanks, outputRanks;

  explicit Loaded(const char *path) {
    fathom_model *loaded;
    check(fathom_model_load(path, &loaded));
    model.reset(loaded);
    fathom_tensor_info info;
    for (size_t i = 0; i < fathom_model_input_count(loaded); ++i)
      check(fathom_model_input(loaded, i, &info)), inputRanks.push_back(info.rank);
    for (size_t i = 0; i < fathom_model_output_count(loaded); ++i)
      check(fathom_model_output(loaded, i, &info)), outputRanks.push_back(info.rank);
    for (int i : {0, 1}) {
      allocators[i] = std::make_unique<LimitedAllocator>();
      useGuardedAllocator(allocators[i]->guarded, i ? Guard::Start : Guard::End);
      fathom_context_options options = FATHOM_CONTEXT_OPTIONS_INIT;
      options.threads = 1 + i;
      options.allocate = LimitedAllocator::allocate;
      options.deallocate = LimitedAllocator::deallocate;
      options.allocator_user = allocators[i].get();
      fathom_context *context;
      check(fathom_context_create(loaded, &options, &context));
      contexts[i].reset(context);
    }
  }
};

// What one call is given. The numbers are the caller's: they need not agree with each other.
struct Inputs {
  std::vector<std::vector<int64_t>> dims;
  std::vector<GuardedBuffer> memory;
  std::vector<fathom_tensor> tensors;

  Inputs(size_t count, Guard guard) {
    for (size_t i = 0; i < count; ++i) {
      auto dtype = receive<int32_t>(), rank = receive<int32_t>();
      auto bytes = receive<int64_t>();
      auto &shape = dims.emplace_back();
      for (int32_t d = 0; d < rank; ++d)
        shape.push_back(receive<int64_t>());
      GuardedBuffer &buffer = memory.emplace_back(bytes, guard);
      if (fread(buffer.data(), 1, bytes, stdin) != size_t(bytes))
        giveUp("the call ends too early");
      buffer.makeReadOnly();
      tensors.push_back({bytes ? buffer.data() : nullptr, dtype, rank, nullptr, size_t(bytes)});
    }
    for (size_t i = 0; i < count; ++i)
      tensors[i].dims = dims[i].data();
  }
};

// Room for the outputs, as far as it is known before the run; data decides the rest.
struct Outputs {
  std::vector<GuardedBuffer> memory;
  std::vector<fathom_tensor> tensors;

  Status prepare(const Loaded &loaded, fathom_context *context, const Inputs &inputs, Guard guard) {
    std::vector<const int64_t *> given;
    std::vector<std::vector<int64_t>> dims;
    std::vector<int64_t *> wanted;
    bool ranksAgree = true;
    for (size_t i = 0; i < inputs.dims.size(); ++i) {
      ranksAgree &= inputs.dims[i].size() == size_t(loaded.inputRanks[i]);
      given.push_back(inputs.dims[i].data());
    }
    for (int32_t rank : loaded.outputRanks)
      wanted.push_back(dims.emplace_back(rank + 1).data());
    fathom_tensor_info info;
    for (size_t i = 0; i < wanted.size(); ++i) {
      check(fathom_model_output(loaded.model.get(), i, &info));
      tensors.push_back({nullptr, info.dtype, info.rank, nullptr, 0});
    }
    // The ranks of the dimensions are taken for granted there; the run itself checks them.
    if (!ranksAgree)
      return nullptr;
    Status status(fathom_context_output_dims(context, given.data(), wanted.data()));
    for (size_t i = 0; !status && i < wanted.size(); ++i) {
      size_t bytes = fathom_dtype_bytes(tensors[i].dtype);
      bool known = true, huge = false;
      for (int32_t d = 0; d < tensors[i].rank; ++d) {
        known &= dims[i][d] >= 0;
        huge |= __builtin_mul_overflow(bytes, size_t(std::max<int64_t>(0, dims[i][d])), &bytes);
      }
      // Too large an output gets no memory at all, which the run must notice.
      if (!known || huge || bytes > memoryLimit)
        continue;
      GuardedBuffer &buffer = memory.emplace_back(bytes, guard);
      tensors[i].data = buffer.data(), tensors[i].bytes = bytes;
    }
    return status;
  }
};

void sendFailure(const fathom_status *status) {
  std::string message = fathom_status_message(status);
  send(fathom_code_number(fathom_status_code(status)));
  send(int32_t(message.size()));
  fwrite(message.data(), 1, message.size(), stdout);
}

size_t bytesOf(const fathom_tensor &tensor) {
  const int64_t *end = tensor.dims + tensor.rank;
  // A tensor without elements may have other dimensions of any size.
  if (std::find(tensor.dims, end, 0) != end)
    return 0;
  return std::accumulate(tensor.dims, end, fathom_dtype_bytes(tensor.dtype), std::multiplies<size_t>());
}

void sendOutputs(const Loaded &loaded, fathom_context *context) {
  send(int32_t(0));
  for (size_t i = 0; i < loaded.outputRanks.size(); ++i) {
    fathom_tensor tensor;
    check(fathom_context_output(context, i, &tensor));
    send(tensor.dtype);
    send(tensor.rank);
    for (int32_t d = 0; d < tensor.rank; ++d)
      send(tensor.dims[d]);
    fwrite(tensor.data, 1, bytesOf(tensor), stdout);
  }
}

void call(const Loaded &loaded, int which) {
  Guard guard = which ? Guard::Start : Guard::End;
  fathom_context *context = loaded.contexts[which].get();
  Inputs inputs(loaded.inputRanks.size(), guard);
  Outputs outputs;
  Status planned = outputs.prepare(loaded, context, inputs, guard);
  Status ran(fathom_context_run(context, inputs.tensors.data(), inputs.tensors.size(), outputs.tensors.data(),
                                outputs.tensors.size()));
  if (planned && !ran)
    giveUp("a run on sizes that were refused before");
  for (const GuardedBuffer &buffer : outputs.memory)
    if (!buffer.slackIsIntact())
      giveUp("an output was written outside its bounds");
  if (ran)
    sendFailure(ran.get());
  else
    sendOutputs(loaded, context);
  fflush(stdout);
}

} // namespace

int main(int argc, char **argv) {
  std::vector<Loaded> models;
  for (int i = 1; i < argc; ++i)
    models.emplace_back(argv[i]);
  for (int32_t model; fread(&model, sizeof(model), 1, stdin) == 1;) {
    auto which = receive<int32_t>();
    if (model < 0 || size_t(model) >= models.size() || which < 0 || which > 1)
      giveUp("there is no such model");
    call(models[model], which);
  }
}
