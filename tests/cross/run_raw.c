// Runs an artifact on inputs from raw files and writes the outputs to raw files, so that the results of two
// architectures can be compared: run_raw ARTIFACT THREADS OUTPUT_PREFIX INPUT... [SYMBOL=SIZE...]
#include "fathom_rt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_RANK 64
#define MAX_TENSORS 16

static void fail(const char *what) {
  fprintf(stderr, "run_raw: %s\n", what);
  exit(1);
}

static void check(fathom_status *status) {
  if (status)
    fail(fathom_status_message(status));
}

// What follows NAME= on the command line.
static int64_t size_of_symbol(const char *name, int argc, char **argv) {
  size_t length = strlen(name);
  for (int i = 4; i < argc; ++i)
    if (strncmp(argv[i], name, length) == 0 && argv[i][length] == '=')
      return strtoll(argv[i] + length + 1, NULL, 10);
  fail("a symbolic size is not given");
  return 0;
}

static fathom_tensor make_tensor(const fathom_tensor_info *info, const int64_t *dims) {
  size_t bytes = fathom_dtype_bytes(info->dtype);
  for (int32_t d = 0; d < info->rank; ++d)
    bytes *= (size_t)dims[d];
  fathom_tensor tensor = {calloc(bytes ? bytes : 1, 1), info->dtype, info->rank, dims, bytes};
  if (!tensor.data)
    fail("out of memory");
  return tensor;
}

int main(int argc, char **argv) {
  if (argc < 4)
    fail("usage: run_raw ARTIFACT THREADS OUTPUT_PREFIX INPUT... [SYMBOL=SIZE...]");
  fathom_model *model;
  check(fathom_model_load(argv[1], &model));
  fathom_context_options options = FATHOM_CONTEXT_OPTIONS_INIT;
  options.threads = atoi(argv[2]);
  fathom_context *context;
  check(fathom_context_create(model, &options, &context));

  size_t input_count = fathom_model_input_count(model), output_count = fathom_model_output_count(model);
  if (input_count > MAX_TENSORS || output_count > MAX_TENSORS || (size_t)argc < 4 + input_count)
    fail("the number of inputs or outputs does not fit");
  static int64_t dims[2 * MAX_TENSORS][MAX_RANK];
  const int64_t *input_dims[MAX_TENSORS];
  int64_t *output_dims[MAX_TENSORS];
  fathom_tensor inputs[MAX_TENSORS], outputs[MAX_TENSORS];
  fathom_tensor_info info;

  for (size_t i = 0; i < input_count; ++i) {
    check(fathom_model_input(model, i, &info));
    for (int32_t d = 0; d < info.rank; ++d)
      dims[i][d] = info.symbols[d] ? size_of_symbol(info.symbols[d], argc, argv) : info.dims[d];
    input_dims[i] = dims[i];
    inputs[i] = make_tensor(&info, dims[i]);
    FILE *file = fopen(argv[4 + i], "rb");
    if (!file || fread(inputs[i].data, 1, inputs[i].bytes, file) != inputs[i].bytes || fgetc(file) != EOF)
      fail("an input file is missing or has another size");
    fclose(file);
  }
  for (size_t i = 0; i < output_count; ++i)
    output_dims[i] = dims[MAX_TENSORS + i];
  check(fathom_context_output_dims(context, input_dims, output_dims));
  for (size_t i = 0; i < output_count; ++i) {
    check(fathom_model_output(model, i, &info));
    outputs[i] = make_tensor(&info, output_dims[i]);
  }

  check(fathom_context_run(context, inputs, input_count, outputs, output_count));
  for (size_t i = 0; i < output_count; ++i) {
    char path[4096];
    snprintf(path, sizeof(path), "%s%zu.raw", argv[3], i);
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(outputs[i].data, 1, outputs[i].bytes, file) != outputs[i].bytes || fclose(file) != 0)
      fail("an output file cannot be written");
    free(outputs[i].data);
  }
  for (size_t i = 0; i < input_count; ++i)
    free(inputs[i].data);
  fathom_context_free(context);
  fathom_model_free(model);
  return 0;
}
