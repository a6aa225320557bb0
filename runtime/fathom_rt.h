// The public C API of Fathom's runtime: load a compiled model, ask what it takes and gives, and run it.
// A program that runs a model needs this header and libfathom_rt, nothing else.
#ifndef FATHOM_RT_H
#define FATHOM_RT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define FATHOM_API __attribute__((visibility("default")))
#else
#define FATHOM_API
#endif

// Status. A function that can fail returns NULL when all is well, or a status that the caller frees.

typedef struct fathom_status fathom_status;

typedef enum fathom_code {
  FATHOM_OK = 0,
  FATHOM_ERROR_INVALID_ARGUMENT = 1, // the call is wrong: a null pointer, a count, a data type, a buffer too small
  FATHOM_ERROR_FILE = 2,             // the file cannot be opened or read
  FATHOM_ERROR_FORMAT = 3,           // the file is not an artifact, is truncated, or is of another version
  FATHOM_ERROR_UNSUPPORTED_CPU = 4,  // the artifact is for another architecture or needs a CPU feature that is missing
  FATHOM_ERROR_SHAPE = 5,            // a dimension differs from what the model was compiled for, or a size overflows
  FATHOM_ERROR_INDEX = 6,            // an index in an input's data is outside the dimension it selects from
  FATHOM_ERROR_MEMORY = 7,           // memory or threads could not be had
  FATHOM_ERROR_INTERNAL = 8,         // the artifact broke its promises: a bug of Fathom
  FATHOM_ERROR_INTERRUPTED = 9,      // the caller's own function asked a run to end
  FATHOM_ERROR_DEVICE = 10,   // the device that the model was compiled for, or its driver, is not there or failed
  FATHOM_ERROR_BUSY = 11,     // a queue is full
  FATHOM_ERROR_DEADLINE = 12, // a request's deadline passed before it was run
  FATHOM_ERROR_CANCELLED = 13 // a request was cancelled, or its queue is closed
} fathom_code;

// The error's number in docs/user/errors.md, the same wherever it is reported: 1011 (F1011) for FATHOM_ERROR_FORMAT.
// The thousands say whose problem it is. 0 for FATHOM_OK.
FATHOM_API int32_t fathom_code_number(int32_t code);

// FATHOM_OK for NULL.
FATHOM_API fathom_code fathom_status_code(const fathom_status *status);
// What went wrong, in one line of text; "" for NULL. Lives as long as the status.
FATHOM_API const char *fathom_status_message(const fathom_status *status);
// The ONNX node that a run ended at, or the nodes of the kernel, separated by commas; "" where the message is not about
// nodes. The message names them, too. Lives as long as the status.
FATHOM_API const char *fathom_status_node(const fathom_status *status);
// NULL is allowed.
FATHOM_API void fathom_status_free(fathom_status *status);

// The version of the library, such as "1.0.0".
FATHOM_API const char *fathom_version(void);

// Types. Those of elements have the numbers of ONNX's TensorProto.DataType.

typedef enum fathom_dtype {
  FATHOM_F32 = 1,
  FATHOM_U8 = 2,
  FATHOM_I8 = 3,
  FATHOM_U16 = 4,
  FATHOM_I16 = 5,
  FATHOM_I32 = 6,
  FATHOM_I64 = 7,
  FATHOM_STRING = 8, // an element is a fathom_string
  FATHOM_BOOL = 9,
  FATHOM_F16 = 10,
  FATHOM_F64 = 11,
  FATHOM_U32 = 12,
  FATHOM_U64 = 13,
  FATHOM_BF16 = 16,
  // A byte for each element, with its bits in the low end, as ml_dtypes has it.
  FATHOM_F8E4M3FN = 17,
  FATHOM_F8E4M3FNUZ = 18,
  FATHOM_F8E5M2 = 19,
  FATHOM_F8E5M2FNUZ = 20,
  FATHOM_U4 = 21,
  FATHOM_I4 = 22,
  FATHOM_F4E2M1 = 23,
  FATHOM_F8E8M0 = 24,
  FATHOM_U2 = 25,
  FATHOM_I2 = 26
} fathom_dtype;

// A string of so many bytes, which any byte may be among. An input's texts are the caller's for the length of the run.
// An output's belong to the model or are the very ones of an input: it makes no new ones.
typedef struct fathom_string {
  const char *data; // may be NULL where size is 0
  size_t size;
} fathom_string;

// Bytes of one element; 0 for a number that is no data type of this runtime.
FATHOM_API size_t fathom_dtype_bytes(int32_t dtype);
// Such as "float32"; "unknown" for a number that is no data type of this runtime.
FATHOM_API const char *fathom_dtype_name(int32_t dtype);

// Model: an artifact loaded into the process. It never changes and may be shared between threads.

typedef struct fathom_model fathom_model;

typedef struct fathom_tensor_info {
  const char *name;
  int32_t dtype; // a fathom_dtype
  int32_t rank;
  const int64_t *dims;        // `rank` sizes; -1 where the size is known only at run time
  const char *const *symbols; // `rank` names of symbolic dimensions; NULL where the size is fixed or has no name
} fathom_tensor_info;

typedef struct fathom_symbol_info {
  const char *name;
  int64_t min, max; // inclusive range the model was compiled for
} fathom_symbol_info;

typedef struct fathom_kernel_info {
  const char *name;  // as a debugger or profiler shows it
  const char *nodes; // the ONNX nodes it computes, separated by commas
} fathom_kernel_info;

// Reads the artifact at `path` from end to end and compares it with the checksum at its end: that it is what the
// compiler wrote, on any machine. Loading checks the size and all but code and weights only.
FATHOM_API fathom_status *fathom_artifact_check(const char *path);

// Loads the artifact at `path`; /proc/self/fd/N works too. An artifact is native code: load only what you trust.
FATHOM_API fathom_status *fathom_model_load(const char *path, fathom_model **model);
// Contexts keep what they need alive, so the order of freeing does not matter. NULL is allowed.
FATHOM_API void fathom_model_free(fathom_model *model);

// What the model takes and gives. All that the infos point to lives as long as the model.
FATHOM_API size_t fathom_model_input_count(const fathom_model *model);
FATHOM_API size_t fathom_model_output_count(const fathom_model *model);
FATHOM_API size_t fathom_model_symbol_count(const fathom_model *model);
FATHOM_API size_t fathom_model_kernel_count(const fathom_model *model);
FATHOM_API fathom_status *fathom_model_input(const fathom_model *model, size_t index, fathom_tensor_info *info);
FATHOM_API fathom_status *fathom_model_output(const fathom_model *model, size_t index, fathom_tensor_info *info);
FATHOM_API fathom_status *fathom_model_symbol(const fathom_model *model, size_t index, fathom_symbol_info *info);
FATHOM_API fathom_status *fathom_model_kernel(const fathom_model *model, size_t index, fathom_kernel_info *info);
// The input whose memory output `index` may be, or -1. Given one buffer for both, a run changes it where it lies
// instead of copying it: the cache of a decoder.
FATHOM_API int32_t fathom_model_output_alias(const fathom_model *model, size_t index);
// The CPU whose code was taken, of an artifact that was compiled for several: the best that this machine can run. "" of
// one that was compiled for one CPU alone.
FATHOM_API const char *fathom_model_variant(const fathom_model *model);
// How the model was compiled, as JSON; of several CPUs, for the one that was taken.
FATHOM_API const char *fathom_model_manifest(const fathom_model *model);
FATHOM_API size_t fathom_model_weights_bytes(const fathom_model *model);

// Context: what running a model needs besides the model, that is an arena and workers. One run at a time; a program
// that runs a model from several threads gives each its own context.

typedef struct fathom_context fathom_context;

// Calls body(arg, worker) once for each worker in [0, workers), at the same time where it can, and returns when all
// calls have returned. Two calls with one worker number never overlap.
typedef void (*fathom_parallel_for_fn)(void *user, void (*body)(void *arg, int32_t worker), void *arg, int32_t workers);

typedef struct fathom_context_options {
  size_t struct_size; // sizeof(fathom_context_options), so that fields can be added later
  // Threads that take part in a run, the caller's included. 0: the environment variable FATHOM_NUM_THREADS, or else the
  // CPUs this process may use. Results do not depend on it.
  int32_t threads;
  // The caller's allocator for arena and scratch; both or neither. `alignment` is a power of two of at least 64.
  void *(*allocate)(void *user, size_t bytes, size_t alignment);
  void (*deallocate)(void *user, void *memory, size_t bytes);
  void *allocator_user;
  // The caller's thread pool; the context then starts no threads and asks for `threads` workers at each launch.
  fathom_parallel_for_fn parallel_for;
  void *parallel_for_user;
  // Asked now and then during a run that takes long, between kernels and in the caller's thread: other than 0 ends the
  // run with FATHOM_ERROR_INTERRUPTED. The context can be used again. May be NULL.
  int32_t (*interrupted)(void *user);
  void *interrupted_user;
  // Of a model for devices: the number of the one to run on, from 0, or -1: the environment variable FATHOM_DEVICE, or
  // else the first. The context's host threads and allocator then have nothing to do with kernels.
  int32_t device;
  int32_t reserved;
  // Of a model for CUDA: the caller's stream (CUstream, cudaStream_t) to run in, or NULL for one of the context's own.
  // What tensors in the device's memory hold is then ordered with the caller's work without further ado.
  void *device_stream;
} fathom_context_options;

// Defaults, to be assigned before fields are set: fathom_context_options options = FATHOM_CONTEXT_OPTIONS_INIT;
#define FATHOM_CONTEXT_OPTIONS_INIT                                                                                    \
  {sizeof(fathom_context_options), 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, -1, 0, NULL}

// `options` may be NULL for the defaults.
FATHOM_API fathom_status *fathom_context_create(fathom_model *model, const fathom_context_options *options,
                                                fathom_context **context);
// Stops and joins the workers. NULL is allowed.
FATHOM_API void fathom_context_free(fathom_context *context);
// Threads that take part in a run.
FATHOM_API int32_t fathom_context_threads(const fathom_context *context);

// From the dimensions of every input (input_dims[i] points to as many as input i's rank), the dimensions of every
// output (output_dims[o] has room for as many as output o's rank), so that the caller can allocate them. -1 where data
// decides a dimension: a run tells it.
FATHOM_API fathom_status *fathom_context_output_dims(fathom_context *context, const int64_t *const *input_dims,
                                                     int64_t *const *output_dims);
// Bytes of arena that a run on inputs of these dimensions takes. The arena grows at a run and is kept for the next.
FATHOM_API fathom_status *fathom_context_arena_bytes(fathom_context *context, const int64_t *const *input_dims,
                                                     size_t *bytes);

// A dense row-major buffer of the caller's, aligned to its element. Of a model for CUDA it may be in the device's
// memory: then nothing goes through the host, and what was written there must be done in the context's stream or be
// complete.
typedef struct fathom_tensor {
  void *data;    // may be NULL where the tensor has no elements, and for an output whose dimensions data decides
  int32_t dtype; // a fathom_dtype
  int32_t rank;
  const int64_t *dims; // `rank` sizes; may be NULL for an output, which then is not compared with the computed ones
  size_t bytes;        // what `data` has room for
} fathom_tensor;

// Runs the model. Inputs are only read. Outputs overlap neither each other nor an input, except that an output may be
// the very buffer of the input that fathom_model_output_alias names; after an error what outputs hold is undefined.
// Allocates nothing once the arena has grown to the sizes in use.
FATHOM_API fathom_status *fathom_context_run(fathom_context *context, const fathom_tensor *inputs, size_t input_count,
                                             const fathom_tensor *outputs, size_t output_count);

// An output of the last run: where it is and its dimensions. An output whose dimensions data decides and for which the
// caller gave no buffer is in the context's own memory, until the next run.
FATHOM_API fathom_status *fathom_context_output(fathom_context *context, size_t index, fathom_tensor *output);

// Profiling. What the last run did when, by the launches of kernels and by the threads.

// One entry for each kernel launch, in order.
typedef struct fathom_profile_entry {
  int32_t kernel;           // for fathom_model_kernel
  int64_t start_ns, end_ns; // since the run's start
  int64_t tasks;
} fathom_profile_entry;

// What one thread did of a launch; thread 0 is the one that called fathom_context_run.
typedef struct fathom_profile_part {
  int64_t launch; // for fathom_context_profile
  int64_t start_ns, end_ns;
  int64_t tasks;
  int32_t thread;
} fathom_profile_part;

// Off (0) at first; takes effect at the next run. 1 costs two clock readings per launch; 2 tells the parts of the
// threads, too, and costs two more for each.
FATHOM_API void fathom_context_set_profiling(fathom_context *context, int32_t level);
FATHOM_API size_t fathom_context_profile_count(const fathom_context *context);
FATHOM_API fathom_status *fathom_context_profile(const fathom_context *context, size_t index,
                                                 fathom_profile_entry *entry);
// In the order of the launches; threads that came too late for a launch have no part in it.
FATHOM_API size_t fathom_context_profile_part_count(const fathom_context *context);
FATHOM_API fathom_status *fathom_context_profile_part(const fathom_context *context, size_t index,
                                                      fathom_profile_part *part);

// Queue: runs requests that come from many threads, in contexts of its own, and joins those that go together: it runs
// them as one of all their items, one behind the other in the first dimension of every input and output, and splits the
// results. That is for models whose items do not depend on each other, which only the caller can know.

typedef struct fathom_queue fathom_queue;
typedef struct fathom_request fathom_request;

typedef struct fathom_queue_options {
  size_t struct_size; // sizeof(fathom_queue_options), so that fields can be added later
  // Items that one run takes at most; 1: each request runs by itself. The largest first dimension that the model was
  // compiled for bounds it too. Requests of models whose inputs and outputs do not all have such a dimension, and of
  // strings, run by themselves.
  int64_t max_batch;
  // How long a request waits for others to join, in microseconds; at most for half of the time to its deadline. It does
  // not wait where its run is full.
  int64_t max_wait_us;
  // Requests that wait at most; one more is refused with FATHOM_ERROR_BUSY.
  int64_t max_pending;
  // Runs at the same time, each with a context of its own. 0: as many as the CPUs suffice for, with so many threads
  // each as a context has.
  int32_t contexts;
  int32_t reserved;
  // Of each context; may be NULL for the defaults. Needed only while the queue is created.
  const fathom_context_options *context;
} fathom_queue_options;

#define FATHOM_QUEUE_OPTIONS_INIT {sizeof(fathom_queue_options), 1, 1000, 256, 0, 0, NULL}

// `options` may be NULL for the defaults.
FATHOM_API fathom_status *fathom_queue_create(fathom_model *model, const fathom_queue_options *options,
                                              fathom_queue **queue);
// Takes no more requests and returns when those that run are done. What waits is run first where `drain` is not 0, or
// else ends with FATHOM_ERROR_CANCELLED. From a function of a request that the queue's own thread calls it returns at
// once, as that thread cannot wait for itself.
FATHOM_API void fathom_queue_close(fathom_queue *queue, int32_t drain);
// Closes it without draining, and as that does. What is kept of its requests stays. NULL is allowed.
FATHOM_API void fathom_queue_free(fathom_queue *queue);

typedef struct fathom_request_options {
  size_t struct_size; // sizeof(fathom_request_options), so that fields can be added later
  // A request that still waits after so long ends with FATHOM_ERROR_DEADLINE and is not run. 0: it waits for ever;
  // less: it is too late already.
  int64_t timeout_us;
  // Called once when the request is done, whatever the outcome, in a thread of the queue's or in that of the call that
  // ends it. May be NULL.
  void (*done)(void *user, fathom_request *request);
  void *done_user;
} fathom_request_options;

#define FATHOM_REQUEST_OPTIONS_INIT {sizeof(fathom_request_options), 0, NULL, NULL}

// Takes a run on these inputs into the queue, whose data must stay as it is until the request is done. What does not
// fit the model is an error here. `options` may be NULL for the defaults.
FATHOM_API fathom_status *fathom_queue_submit(fathom_queue *queue, const fathom_tensor *inputs, size_t input_count,
                                              const fathom_request_options *options, fathom_request **request);
// Waits until the request is done and tells how it went, as often as it is asked.
FATHOM_API fathom_status *fathom_request_wait(fathom_request *request);
// A result of a request that is done and went well; its data lives as long as the request. The texts of strings live as
// long as the inputs and the queue.
FATHOM_API fathom_status *fathom_request_output(fathom_request *request, size_t index, fathom_tensor *output);
// A request that waits ends with FATHOM_ERROR_CANCELLED; one that runs comes to its end.
FATHOM_API void fathom_request_cancel(fathom_request *request);
// Cancels it and returns when nobody reads its inputs any more. NULL is allowed.
FATHOM_API void fathom_request_free(fathom_request *request);

typedef struct fathom_queue_stats {
  int64_t pending, running; // requests that wait and that run, now
  // Requests so far: run well, run with an error, not taken, too late, cancelled.
  int64_t completed, failed, refused, expired, cancelled;
  int64_t runs; // so far
} fathom_queue_stats;

// `size` is sizeof(fathom_queue_stats), so that fields can be added later.
FATHOM_API void fathom_queue_read_stats(fathom_queue *queue, fathom_queue_stats *stats, size_t size);

// Pool: threads that any number of contexts share, of several models and queues too. Give contexts
// fathom_pool_parallel_for and the pool as their parallel_for and parallel_for_user, and free it after them. At most as
// many threads as the pool has work at a time, those included that run the contexts, unless these alone are more.

typedef struct fathom_pool fathom_pool;

// Of so many threads; 0: as many as a context has by default.
FATHOM_API fathom_status *fathom_pool_create(int32_t threads, fathom_pool **pool);
FATHOM_API void fathom_pool_free(fathom_pool *pool);
FATHOM_API int32_t fathom_pool_threads(const fathom_pool *pool);
FATHOM_API void fathom_pool_parallel_for(void *pool, void (*body)(void *arg, int32_t worker), void *arg,
                                         int32_t workers);

#ifdef __cplusplus
}
#endif
#endif
