// Runs an artifact for a program on the other side of two pipes, so that code for one architecture is tested from
// another: serve ARTIFACT THREADS. What it says and is asked is numbers of 64 bits and texts, a text being its length
// and its bytes. First it describes the model. Then each request is a number: 1 asks for the sizes of outputs, 2 runs
// the model. Every answer begins with a status. emulation.py is the other side.
#include "fathom_rt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void fail(const char *what) {
  fprintf(stderr, "serve: %s\n", what);
  exit(1);
}

static void *room(size_t bytes) {
  void *memory = calloc(bytes ? bytes : 1, 1);
  if (!memory)
    fail("out of memory");
  return memory;
}

static void put_bytes(const void *bytes, size_t count) {
  if (fwrite(bytes, 1, count, stdout) != count)
    exit(0); // nobody listens any more
}

static void put_number(int64_t number) { put_bytes(&number, sizeof(number)); }

static void put_text(const void *bytes, size_t count) {
  put_number((int64_t)count);
  put_bytes(bytes, count);
}

static void put_string(const char *text) { put_text(text ? text : "", text ? strlen(text) : 0); }

static void put_numbers(const int64_t *numbers, int32_t count) {
  for (int32_t i = 0; i < count; ++i)
    put_number(numbers[i]);
}

static void get_bytes(void *bytes, size_t count) {
  if (fread(bytes, 1, count, stdin) != count)
    exit(0);
}

static int64_t get_number(void) {
  int64_t number;
  get_bytes(&number, sizeof(number));
  return number;
}

// Says how a call went; 1 if it went well.
static int put_status(fathom_status *status) {
  put_number(fathom_code_number(fathom_status_code(status)));
  if (!status)
    return 1;
  put_string(fathom_status_message(status));
  put_string(fathom_status_node(status));
  put_number(fathom_status_code(status) == FATHOM_ERROR_INDEX);
  fathom_status_free(status);
  return 0;
}

static void check(fathom_status *status) {
  if (status)
    fail(fathom_status_message(status));
}

typedef struct tensors {
  size_t count;
  fathom_tensor_info *infos;
  fathom_tensor *values;
  int64_t **dims;
} tensors;

static tensors describe(fathom_model *model, int inputs) {
  tensors all = {inputs ? fathom_model_input_count(model) : fathom_model_output_count(model), NULL, NULL, NULL};
  all.infos = room(all.count * sizeof(*all.infos));
  all.values = room(all.count * sizeof(*all.values));
  all.dims = room(all.count * sizeof(*all.dims));
  put_number((int64_t)all.count);
  for (size_t i = 0; i < all.count; ++i) {
    fathom_tensor_info *info = &all.infos[i];
    check(inputs ? fathom_model_input(model, i, info) : fathom_model_output(model, i, info));
    all.dims[i] = room((size_t)info->rank * sizeof(int64_t));
    put_string(info->name);
    put_string(fathom_dtype_name(info->dtype));
    put_number(info->dtype);
    put_number(info->rank);
    put_numbers(info->dims, info->rank);
    for (int32_t d = 0; d < info->rank; ++d)
      put_string(info->symbols ? info->symbols[d] : NULL);
    put_number(inputs ? -1 : fathom_model_output_alias(model, i));
  }
  return all;
}

static void get_dims(tensors *all) {
  for (size_t i = 0; i < all->count; ++i)
    for (int32_t d = 0; d < all->infos[i].rank; ++d)
      all->dims[i][d] = get_number();
}

// Tensors of the sizes that came; an output whose sizes data decides has no memory yet.
static void make_tensors(tensors *all) {
  for (size_t i = 0; i < all->count; ++i) {
    int64_t bytes = get_number();
    fathom_tensor tensor = {NULL, all->infos[i].dtype, all->infos[i].rank, NULL, 0};
    if (bytes >= 0) {
      tensor.data = room((size_t)bytes);
      tensor.bytes = (size_t)bytes;
      tensor.dims = all->dims[i];
    }
    all->values[i] = tensor;
  }
}

static void free_tensors(tensors *all) {
  for (size_t i = 0; i < all->count; ++i)
    free(all->values[i].data);
}

static void run(fathom_context *context, tensors *inputs, tensors *outputs) {
  get_dims(inputs);
  make_tensors(inputs);
  for (size_t i = 0; i < inputs->count; ++i)
    get_bytes(inputs->values[i].data, inputs->values[i].bytes);
  get_dims(outputs);
  make_tensors(outputs);
  if (put_status(fathom_context_run(context, inputs->values, inputs->count, outputs->values, outputs->count)))
    for (size_t i = 0; i < outputs->count; ++i) {
      fathom_tensor made;
      check(fathom_context_output(context, i, &made));
      put_numbers(made.dims, made.rank);
      put_text(made.data, made.bytes);
    }
  free_tensors(inputs);
  free_tensors(outputs);
}

int main(int argc, char **argv) {
  if (argc != 3)
    fail("usage: serve ARTIFACT THREADS");
  fathom_model *model;
  if (!put_status(fathom_model_load(argv[1], &model)))
    return 0;
  fathom_context_options options = FATHOM_CONTEXT_OPTIONS_INIT;
  options.threads = atoi(argv[2]);
  fathom_context *context;
  if (!put_status(fathom_context_create(model, &options, &context)))
    return 0;
  put_string(fathom_model_manifest(model));
  put_number(fathom_context_threads(context));
  tensors inputs = describe(model, 1), outputs = describe(model, 0);
  size_t symbols = fathom_model_symbol_count(model);
  put_number((int64_t)symbols);
  for (size_t i = 0; i < symbols; ++i) {
    fathom_symbol_info info;
    check(fathom_model_symbol(model, i, &info));
    put_string(info.name);
    put_number(info.min);
    put_number(info.max);
  }
  for (;;) {
    fflush(stdout);
    if (get_number() == 2) {
      run(context, &inputs, &outputs);
      continue;
    }
    get_dims(&inputs);
    if (put_status(fathom_context_output_dims(context, (const int64_t *const *)inputs.dims, outputs.dims)))
      for (size_t i = 0; i < outputs.count; ++i)
        put_numbers(outputs.dims[i], outputs.infos[i].rank);
  }
}
