// Runs a compiled model on pseudo-random inputs and prints what it takes and gives: the smallest whole program that
// uses Fathom's runtime. It needs fathom_rt.h and libfathom_rt, nothing else.
#include "fathom_rt.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_RANK 64

static void check(fathom_status *status) {
  if (!status)
    return;
  fprintf(stderr, "run_model: %s\n", fathom_status_message(status));
  fathom_status_free(status);
  exit(1);
}

static void *allocate(size_t count, size_t bytes) {
  void *memory = calloc(count ? count : 1, bytes ? bytes : 1);
  if (!memory) {
    fprintf(stderr, "run_model: out of memory\n");
    exit(1);
  }
  return memory;
}

static void print_info(const char *kind, const fathom_tensor_info *info) {
  printf("%s %s: %s [", kind, info->name, fathom_dtype_name(info->dtype));
  for (int32_t d = 0; d < info->rank; ++d) {
    printf("%s", d ? ", " : "");
    if (info->symbols[d])
      printf("%s", info->symbols[d]);
    else if (info->dims[d] < 0)
      printf("?");
    else
      printf("%" PRId64, info->dims[d]);
  }
  printf("]\n");
}

// The size of a symbolic dimension: what the command line says as NAME=SIZE, or else the least that is not empty.
static int64_t size_of_symbol(const fathom_model *model, const char *name, int argc, char **argv) {
  size_t length = strlen(name);
  for (int i = 3; i < argc; ++i)
    if (strncmp(argv[i], name, length) == 0 && argv[i][length] == '=')
      return strtoll(argv[i] + length + 1, NULL, 10);
  for (size_t i = 0; i < fathom_model_symbol_count(model); ++i) {
    fathom_symbol_info info;
    check(fathom_model_symbol(model, i, &info));
    if (strcmp(info.name, name) == 0)
      return info.min == 0 && info.max > 0 ? 1 : info.min;
  }
  return 1;
}

static int64_t elements(int32_t rank, const int64_t *dims) {
  int64_t count = 1;
  for (int32_t d = 0; d < rank; ++d)
    count *= dims[d];
  return count;
}

static fathom_tensor make_tensor(const fathom_tensor_info *info, const int64_t *dims) {
  size_t bytes = (size_t)elements(info->rank, dims) * fathom_dtype_bytes(info->dtype);
  fathom_tensor tensor = {allocate(bytes, 1), info->dtype, info->rank, dims, bytes};
  return tensor;
}

static uint32_t next_random(uint64_t *state) {
  *state = *state * 6364136223846793005ull + 1442695040888963407ull;
  return (uint32_t)(*state >> 33);
}

// Floating-point values in [-1, 1), or a few of them for the short types; integers 0 and 1, which most models can take
// as indices.
static void fill(fathom_tensor *tensor, uint64_t *state) {
  static const uint16_t halves[4] = {0x0000, 0x3800, 0x3c00, 0xbc00};  // 0, 0.5, 1, -1
  static const uint16_t bfloats[4] = {0x0000, 0x3f00, 0x3f80, 0xbf80}; // the same
  size_t bytes = fathom_dtype_bytes(tensor->dtype);
  int64_t count = elements(tensor->rank, tensor->dims);
  for (int64_t i = 0; i < count; ++i) {
    uint32_t random = next_random(state);
    char *at = (char *)tensor->data + (size_t)i * bytes;
    double real = random / 1073741824.0 - 1.0;
    float single = (float)real;
    uint64_t whole = random >> 16 & 1;
    switch (tensor->dtype) {
    case FATHOM_F32:
      memcpy(at, &single, 4);
      break;
    case FATHOM_F64:
      memcpy(at, &real, 8);
      break;
    case FATHOM_F16:
      memcpy(at, &halves[random & 3], 2);
      break;
    case FATHOM_BF16:
      memcpy(at, &bfloats[random & 3], 2);
      break;
    default: // the numbers 0 and 1 of all integer types, on a little-endian machine
      memcpy(at, &whole, bytes);
    }
  }
}

static void print_value(const fathom_tensor *tensor, int64_t index) {
  size_t bytes = fathom_dtype_bytes(tensor->dtype);
  const char *at = (const char *)tensor->data + (size_t)index * bytes;
  float single;
  double real;
  int64_t whole = 0;
  memcpy(&whole, at, bytes);
  switch (tensor->dtype) {
  case FATHOM_F32:
    memcpy(&single, at, 4);
    printf(" %.6g", single);
    break;
  case FATHOM_F64:
    memcpy(&real, at, 8);
    printf(" %.6g", real);
    break;
  case FATHOM_F16:
  case FATHOM_BF16:
    printf(" 0x%04x", (unsigned)whole);
    break;
  default:
    printf(" %" PRId64, whole);
  }
}

static void print_result(const char *name, const fathom_tensor *tensor) {
  int64_t count = elements(tensor->rank, tensor->dims);
  uint64_t checksum = 14695981039346656037ull; // FNV-1a over the bytes
  const unsigned char *data = tensor->data;
  for (size_t i = 0; i < (size_t)count * fathom_dtype_bytes(tensor->dtype); ++i)
    checksum = (checksum ^ data[i]) * 1099511628211ull;
  printf("%s [", name);
  for (int32_t d = 0; d < tensor->rank; ++d)
    printf("%s%" PRId64, d ? ", " : "", tensor->dims[d]);
  printf("]:");
  for (int64_t i = 0; i < count && i < 8; ++i)
    print_value(tensor, i);
  printf("%s checksum %016" PRIx64 "\n", count > 8 ? " ..." : "", checksum);
}

int main(int argc, char **argv) {
  if (argc < 2) {
    fprintf(stderr, "usage: run_model ARTIFACT [THREADS [SYMBOL=SIZE ...]]\n");
    return 2;
  }
  fathom_model *model;
  check(fathom_model_load(argv[1], &model));
  fathom_context_options options = FATHOM_CONTEXT_OPTIONS_INIT;
  options.threads = argc > 2 ? atoi(argv[2]) : 0;
  fathom_context *context;
  check(fathom_context_create(model, &options, &context));

  size_t input_count = fathom_model_input_count(model), output_count = fathom_model_output_count(model);
  fathom_tensor *inputs = allocate(input_count, sizeof(*inputs)), *outputs = allocate(output_count, sizeof(*outputs));
  int64_t (*dims)[MAX_RANK] = allocate(input_count + output_count, sizeof(*dims));
  const int64_t **input_dims = allocate(input_count, sizeof(*input_dims));
  int64_t **output_dims = allocate(output_count, sizeof(*output_dims));
  fathom_tensor_info info;

  // Sizes: those of the inputs come from the model and the command line, those of the outputs follow.
  for (size_t i = 0; i < input_count; ++i) {
    check(fathom_model_input(model, i, &info));
    print_info("input", &info);
    for (int32_t d = 0; d < info.rank; ++d)
      dims[i][d] = info.symbols[d] ? size_of_symbol(model, info.symbols[d], argc, argv) : info.dims[d];
    input_dims[i] = dims[i];
  }
  for (size_t i = 0; i < output_count; ++i) {
    check(fathom_model_output(model, i, &info));
    print_info("output", &info);
    output_dims[i] = dims[input_count + i];
  }
  check(fathom_context_output_dims(context, input_dims, output_dims));

  uint64_t random = 1;
  for (size_t i = 0; i < input_count; ++i) {
    check(fathom_model_input(model, i, &info));
    inputs[i] = make_tensor(&info, dims[i]);
    fill(&inputs[i], &random);
  }
  for (size_t i = 0; i < output_count; ++i) {
    check(fathom_model_output(model, i, &info));
    outputs[i] = make_tensor(&info, output_dims[i]);
  }

  printf("running on %" PRId32 " threads\n", fathom_context_threads(context));
  check(fathom_context_run(context, inputs, input_count, outputs, output_count));
  for (size_t i = 0; i < output_count; ++i) {
    check(fathom_model_output(model, i, &info));
    print_result(info.name, &outputs[i]);
  }

  for (size_t i = 0; i < input_count; ++i)
    free(inputs[i].data);
  for (size_t i = 0; i < output_count; ++i)
    free(outputs[i].data);
  free(inputs);
  free(outputs);
  free(dims);
  free(input_dims);
  free(output_dims);
  fathom_context_free(context);
  fathom_model_free(model);
  return 0;
}
