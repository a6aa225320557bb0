// What an artifact and the runtime agree on: the table an artifact exports and the services it is handed.
// Plain C, shared by the runtime (which reads the table) and the compiler (which emits it); any change raises
// FATHOM_ABI_VERSION and comes behind what there was, as the runtime reads artifacts from FATHOM_ABI_OLDEST on: it
// looks at what a version added only where the artifact is of it, and hands older ones the services that they know. An
// artifact is of the first version that has what it needs, so that runtimes which are older can load it.
#ifndef FATHOM_ABI_H
#define FATHOM_ABI_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FATHOM_ABI_VERSION 9
#define FATHOM_ABI_OLDEST 8
#define FATHOM_ABI_MAGIC 0x4d4f485441460001ull /* "FATHOM" and a byte that no text file starts with */
#define FATHOM_ARTIFACT_SYMBOL "fathom_artifact"

// The tasks [first, last) of a kernel's fixed grid, in that order: what neighbours share is computed once for all of
// them. `env` is the kernel's argument block (buffer pointers, then symbolic sizes), `scratch` is private to the worker
// and 64-byte aligned. `before` is the last task of the run that this launch had in the same scratch just before, or
// -1: what it shares with the first one here need not be computed again. Returns 0, or the FATHOM_FAULT_ code of the
// first task whose data is at fault; those behind it are then left out, and the scratch holds nothing of use.
typedef int32_t (*fathom_task_fn)(const void *env, int64_t first, int64_t last, int64_t before, void *scratch);

enum {
  FATHOM_FAULT_NONE = 0,
  FATHOM_FAULT_INDEX = 1,       // an index in a tensor is outside the dimension it selects from
  FATHOM_FAULT_SHAPE = 2,       // a size computed at run time is negative, overflows or disagrees with another
  FATHOM_FAULT_MEMORY = 3,      // the allocator returned null
  FATHOM_FAULT_INTERRUPTED = 4, // the user of the runtime wants the run to end; of launches only
  FATHOM_FAULT_DEVICE = 5       // the device failed, and the runtime knows how; of services only
};

// Services of the runtime, handed to the model's compiled host code. New ones are appended and raise the version.
typedef struct fathom_services {
  uint32_t version;
  uint32_t reserved;
  // Runs the tasks [0, tasks) on the context's workers, in runs of any length, and waits; returns the first fault or 0.
  // `kernel` indexes fathom_artifact.kernels and serves profiling and messages.
  int32_t (*launch)(void *host, int32_t kernel, fathom_task_fn fn, const void *env, int64_t tasks);
  // Memory for a tensor whose size data decides: 64-byte aligned, null when there is none. What is not released when
  // the run ends is released then.
  void *(*allocate)(void *host, int64_t bytes);
  void (*release)(void *host, void *memory);
  // Where an output goes whose dimensions (as many as its rank) are known only now; null when there is no room.
  void *(*output)(void *host, int32_t index, const int64_t *dims, int64_t bytes);
  // Notes why the host code ends the run with this fault; `text` names the nodes, and behind a line break what is wrong
  // where more is known than the fault. Returns the fault.
  int32_t (*refuse)(void *host, int32_t fault, const char *text);

  // Of artifacts for devices. Their tensors, weights and arena have addresses that host code computes with and never
  // reads at; allocate() stays the host's memory, and output() gives the device's. What is asked of the device happens
  // in that order. All but device_allocate return a fault or 0.
  //
  // Launches so many work groups of a kernel, by its number among fathom_artifact.entries, and does not wait. `env` has
  // pointers, then symbolic sizes, as a task function's; what the entry takes besides, the runtime adds.
  int32_t (*device_launch)(void *host, int32_t kernel, int32_t entry, const void *env, int64_t groups);
  // Memory of the device for a tensor, as allocate() has it.
  void *(*device_allocate)(void *host, int64_t bytes);
  void (*device_release)(void *host, void *memory);
  // Waits for what was asked before and copies from the device to the host. A fault of a kernel ends the wait.
  int32_t (*device_read)(void *host, void *to, const void *from, int64_t bytes);
  // Copies to the device; `from` may change once it has returned.
  int32_t (*device_write)(void *host, void *to, const void *from, int64_t bytes);
  int32_t (*device_copy)(void *host, void *to, const void *from, int64_t bytes);
} fathom_services;

// One call of the model.
typedef struct fathom_call {
  const fathom_services *services;
  void *host;             // the runtime's own handle, passed back to every service
  const char *weights;    // base of the weights; compiled code adds 64-bit offsets
  char *arena;            // planned tensors; 64-byte aligned, size from plan()
  const int64_t *symbols; // values of the symbolic dimensions, by symbol index
  const void *const *inputs;
  void *const *outputs; // not read for an output whose dimensions data decides
} fathom_call;

typedef enum fathom_abi_dtype {
  FATHOM_ABI_F32 = 1,
  FATHOM_ABI_U8 = 2,
  FATHOM_ABI_I8 = 3,
  FATHOM_ABI_U16 = 4,
  FATHOM_ABI_I16 = 5,
  FATHOM_ABI_I32 = 6,
  FATHOM_ABI_I64 = 7,
  FATHOM_ABI_STRING = 8, // in compiled code the number of a string, a 64-bit integer
  FATHOM_ABI_BOOL = 9,
  FATHOM_ABI_F16 = 10,
  FATHOM_ABI_F64 = 11,
  FATHOM_ABI_U32 = 12,
  FATHOM_ABI_U64 = 13,
  FATHOM_ABI_BF16 = 16,
  // A byte for each element, in compiled code a number of 8 bits.
  FATHOM_ABI_F8E4M3FN = 17,
  FATHOM_ABI_F8E4M3FNUZ = 18,
  FATHOM_ABI_F8E5M2 = 19,
  FATHOM_ABI_F8E5M2FNUZ = 20,
  FATHOM_ABI_U4 = 21,
  FATHOM_ABI_I4 = 22,
  FATHOM_ABI_F4E2M1 = 23,
  FATHOM_ABI_F8E8M0 = 24,
  FATHOM_ABI_U2 = 25,
  FATHOM_ABI_I2 = 26
} fathom_abi_dtype; // the numbers of ONNX's TensorProto.DataType

// Where memory is. The runtime refuses an artifact that names a space which it does not have.
typedef enum fathom_abi_space {
  FATHOM_ABI_SPACE_HOST = 0,  // the process's own
  FATHOM_ABI_SPACE_CUDA = 1,  // of a GPU, by its driver's addresses
  FATHOM_ABI_SPACE_OPENCL = 2 // of an OpenCL device, by addresses that the runtime makes up for places in buffers
} fathom_abi_space;

typedef struct fathom_abi_tensor {
  const char *name;
  int32_t dtype;
  int32_t rank;
  // Inputs: a size, or -(1 + symbol) for a symbolic dimension. Outputs: a size, -1 where plan() tells, or -2 where the
  // run itself does.
  const int64_t *dims;
  int32_t space; // where the code finds it: FATHOM_ABI_SPACE_
} fathom_abi_tensor;

typedef struct fathom_abi_symbol {
  const char *name;
  int64_t min, max; // inclusive range the artifact was compiled for
} fathom_abi_symbol;

typedef struct fathom_abi_kernel {
  const char *name;  // the symbol a debugger or profiler shows
  const char *nodes; // the ONNX nodes it computes, separated by commas
} fathom_abi_kernel;

typedef struct fathom_abi_string {
  const char *text; // not ended by a zero
  int64_t size;
} fathom_abi_string;

// What a device's driver makes code of, when the artifact is first run on it.
typedef enum fathom_abi_program_kind {
  FATHOM_ABI_PROGRAM_PTX = 1,
  FATHOM_ABI_PROGRAM_OPENCL_C = 2,
  FATHOM_ABI_PROGRAM_CUBIN = 3 // of exactly one architecture
} fathom_abi_program_kind;

typedef struct fathom_abi_program {
  const char *data; // of a text, `size` does not count the zero at its end
  int64_t size;
  int32_t kind;
} fathom_abi_program;

// A kernel of a device. Its parameters are pointers to operands and results, a pointer to the code of a fault (int32),
// a pointer to the scratch of all groups, and symbolic sizes (int64). In OpenCL C a pointer is a buffer and an offset
// (ulong).
typedef struct fathom_abi_entry {
  const char *name;
  int32_t program;     // which has it
  int32_t group_items; // work items of a group
  int32_t pointers;    // operands and results
  int32_t symbols;
  int64_t group_scratch; // bytes of scratch that a group has for itself
} fathom_abi_entry;

// The file ends with its size and checksums (Checksum.h).
#define FATHOM_ABI_CHECKED 1u
// The launches of a run follow from the symbols and the addresses alone, and nothing is read back: they can be recorded
// and run again.
#define FATHOM_ABI_REPLAYABLE 2u

// The model's code for one of several CPUs.
typedef struct fathom_abi_variant {
  const char *name; // of the CPU
  const struct fathom_artifact *artifact; // NULL: the table that has the list
} fathom_abi_variant;

// The one symbol an artifact exports.
typedef struct fathom_artifact {
  uint64_t magic;
  uint32_t abi_version;
  uint32_t input_count, output_count, symbol_count, kernel_count;
  uint32_t feature_count;
  const fathom_abi_tensor *inputs;
  const fathom_abi_tensor *outputs;
  const fathom_abi_symbol *symbols;
  const fathom_abi_kernel *kernels;
  const char *const *features; // CPU features the code needs, by LLVM's names
  const char *manifest;        // JSON: versions, flags, target, sizes, kernels
  const char *weights;         // base of the weights
  int64_t weights_size;
  int64_t scratch_size; // bytes a worker's scratch must hold, enough for every kernel
  // An artifact made without its weights: when weights_seeded, `weights` holds the first weights_kept bytes only, and
  // the runtime makes up the rest from the seed.
  uint64_t weights_seed;
  uint32_t weights_seeded;
  uint32_t flags; // FATHOM_ABI_ flags
  // From the symbols: sizes[0] is the arena's bytes, then every output's dimensions in order (all ranks concatenated),
  // -1 where data decides. Returns 0 or a fault. With a fault of FATHOM_FAULT_SHAPE sizes[0] may have become the
  // address of what `refuse` would have been told.
  int32_t (*plan)(const int64_t *symbols, int64_t *sizes);
  int32_t (*run)(const fathom_call *call);
  int64_t weights_kept;
  // For every output the input whose memory it may be, or -1: the code then changes that input where it lies instead of
  // copying it. NULL when there is no such output.
  const int32_t *aliases;
  // The strings that the model knows, by number. Others have numbers behind these, for the length of a run.
  const fathom_abi_string *strings;
  int64_t string_count;
  // Where the arena (and what allocate() gives) and the weights are to be: FATHOM_ABI_SPACE_.
  int32_t arena_space, weights_space;
  // Of devices, whose spaces these then are. The architecture is the least that the programs are for, as its driver
  // counts (90 for compute capability 9.0), or 0 for any.
  const fathom_abi_program *programs;
  const fathom_abi_entry *entries;
  uint32_t program_count, entry_count;
  int32_t device_architecture;
  int32_t reserved;
  // From version 9 on, of the table that is exported: the same model's code for several CPUs, this table's first, in
  // the order in which they are to be tried. All have the same inputs and outputs by name and type, and one base of
  // weights.
  const fathom_abi_variant *variants;
  int64_t variant_count; // 0 where there is code for one CPU alone
} fathom_artifact;

#ifdef __cplusplus
}
#endif
#endif
