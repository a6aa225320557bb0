// Kernels as a compiler would make them, and others that a compiler should not make. Their arguments are `in`, `out`
// (as many floats as there are tasks) and how much work a task is.
#include "abi.h"

#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

struct arguments {
  const float *in;
  float *out;
  int64_t work;
};

static float churn(float value, int64_t work) {
  for (int64_t i = 0; i < work; ++i) {
    value = value * 0.5f + 1.0f;
    __asm__ volatile("" : "+m"(value)); // so that it is done
  }
  return value;
}

#define KERNEL(name) EXPORT int32_t name(const void *env, int64_t first, int64_t last, int64_t before, void *scratch)

static void run(const void *env, int64_t first, int64_t last) {
  const struct arguments *a = env;
  for (int64_t task = first; task < last; ++task)
    a->out[task] = a->in[task] + 0 * churn(a->in[task], a->work);
}

// Adds nothing to its input, slowly.
KERNEL(copy) {
  run(env, first, last);
  return 0;
}

// Takes a matrix of 16 by 16 out of panels of `work` columns.
KERNEL(panels) {
  const struct arguments *a = env;
  for (int64_t task = first; task < last; ++task) {
    int64_t row = task / 16, column = task % 16;
    a->out[task] = a->in[column / a->work * 16 * a->work + row * a->work + column % a->work];
  }
  return 0;
}

KERNEL(crash) {
  *(volatile int *)8 = 1;
  return 0;
}

KERNEL(hang) {
  for (volatile int forever = 1; forever;)
    ;
  return 0;
}

KERNEL(leave) { exit(0); }

KERNEL(fault) { return FATHOM_FAULT_INDEX; }

// Only the last element is another one.
KERNEL(wrong) {
  const struct arguments *a = env;
  run(env, first, last);
  for (int64_t task = first; task < last; ++task)
    a->out[task] += task == a->work ? 1 : 0;
  return 0;
}

// Writes behind its output.
KERNEL(overrun) {
  const struct arguments *a = env;
  run(env, first, last);
  for (int i = 0; i < 32; ++i)
    a->out[last + i] = 0;
  return 0;
}

// One call in eight takes much longer.
KERNEL(unsteady) {
  static int calls;
  run(env, first, last);
  if (++calls % 8 == 0)
    nanosleep(&(struct timespec){0, 300000000}, NULL);
  return 0;
}

// Tells where it runs a third time in a row: of candidates that share an output, the last one has its number there.
KERNEL(take_turns) {
  const struct arguments *a = env;
  float me = (float)a->work;
  a->out[1] = a->out[0] == me ? a->out[1] + 1 : 1;
  a->out[0] = me;
  return a->out[1] > 2 ? FATHOM_FAULT_SHAPE : 0;
}

// Changes its output, which it reads as well; tells where it does not find what it was given at first.
KERNEL(in_place) {
  const struct arguments *a = env;
  for (int64_t task = first; task < last; ++task) {
    if (a->out[task] > 100)
      return FATHOM_FAULT_SHAPE;
    a->out[task] += 1000;
  }
  return 0;
}

// Tells where its scratch is not the worker's own or not as it has to be.
KERNEL(scratch) {
  long *mine = scratch;
  if ((uintptr_t)scratch % 64)
    return FATHOM_FAULT_MEMORY;
  for (int i = 0; i < 512; ++i)
    mine[i] = first;
  run(env, first, last);
  for (int i = 0; i < 512; ++i)
    if (mine[i] != first)
      return FATHOM_FAULT_MEMORY;
  return 0;
}

// What takes a whole machine down, as far as the compiler sees.
KERNEL(end_machine) {
  kill(getppid(), SIGKILL);
  pause();
  return 0;
}

KERNEL(freeze_machine) {
  kill(getppid(), SIGSTOP);
  pause();
  return 0;
}
