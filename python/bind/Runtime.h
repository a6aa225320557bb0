// The runtime's C interface as Python has it: a model, which is loaded once, and a runner, which has contexts of it.
#pragma once

#include "runtime/fathom_rt.h"

#include <condition_variable>
#include <memory>
#include <mutex>
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace fathom::python {

using Dims = std::vector<std::vector<int64_t>>;
using ConstBytes = nanobind::ndarray<const uint8_t, nanobind::ndim<1>, nanobind::c_contig, nanobind::device::cpu>;
using Bytes = nanobind::ndarray<uint8_t, nanobind::ndim<1>, nanobind::c_contig, nanobind::device::cpu>;

// An artifact's names are UTF-8, unless somebody changed it.
nanobind::str text(const std::string &bytes);
// Raises fathom.Error for a status that is an error, with the GIL held.
void check(fathom_status *status);

class Model {
public:
  explicit Model(const nanobind::bytes &file);

  nanobind::list tensors(bool inputs) const;
  // The input whose memory each output may be, or -1.
  std::vector<int> aliases() const;
  nanobind::list symbols() const;
  // The name and the nodes of each.
  nanobind::list kernels() const;
  nanobind::str variant() const { return text(fathom_model_variant(model.get())); }
  nanobind::str manifest() const { return text(fathom_model_manifest(model.get())); }

  const std::shared_ptr<fathom_model> &get() const { return model; }

private:
  std::shared_ptr<fathom_model> model;
};

// Runs of one model. Those that come at the same time have a context each, up to a limit; others wait for their turn.
class Runner {
public:
  // A limit of 0: as many contexts as there are CPUs for, with so many threads each.
  Runner(const Model &model, int threads, int device, uintptr_t stream, int limit);
  Runner(const Runner &) = delete;
  ~Runner();

  int threads() const { return fathom_context_threads(all.front()); }
  // The contexts that there may be, and those that there are.
  size_t mostContexts();
  size_t contexts();

  Dims outputDims(const Dims &inputDims);
  // An output with a dimension of -1 has no buffer yet; those are returned as (dims, bytes), in order.
  nanobind::list run(const std::vector<ConstBytes> &inputs, const Dims &inputDims, const std::vector<Bytes> &outputs,
                     const Dims &outputDims);
  // The quick way for arrays of whose types, sizes and layouts all is known: everything is in place.
  void runArrays(const nanobind::list &inputs, const nanobind::list &outputs);
  // Arrays of any library, in the host's memory or the device's, through DLPack.
  void runInto(const nanobind::list &inputs, const nanobind::list &outputs);

  // From the next runs on, whether they are noted: when each was, and what its threads did.
  void setProfiling(bool on);
  // The runs that were noted, which are forgotten: (start in ns, thread, [(kernel, launch, start, end, tasks,
  // worker)]).
  nanobind::list takeProfile();

private:
  struct NotedRun {
    int64_t start;
    long thread;
    std::vector<fathom_profile_part> parts;
    std::vector<int32_t> kernels; // of each part
  };
  class Lease;

  fathom_status *create(fathom_context *&context);
  void checkCounts(size_t inputs, size_t outputs) const;
  fathom_status *runIn(Lease &lease, const std::vector<fathom_tensor> &tensors, size_t inputCount);
  // In a context of the pool's, where nothing is left to do but to look for errors.
  void runAll(const std::vector<fathom_tensor> &tensors, size_t inputCount);
  void note(fathom_context *context, int64_t start);

  std::shared_ptr<fathom_model> model;
  fathom_context_options options = FATHOM_CONTEXT_OPTIONS_INIT;
  size_t limit = 1;

  // Never taken while holding the GIL.
  std::mutex mutex;
  std::condition_variable returned;
  std::vector<fathom_context *> all, idle;
  size_t begun = 0; // contexts that are being made
  bool isProfiled = false;
  size_t noted = 0;
  std::vector<NotedRun> runs;
};

} // namespace fathom::python
