// Runs requests in one context: one by itself, in its own memory, or several as one run of all their items.
#ifndef FATHOM_RUNTIME_BATCH_H
#define FATHOM_RUNTIME_BATCH_H

#include "Request.h"

namespace fathom {

// The largest number of items that a run can take, 1 where requests cannot be joined: the first dimension of every
// input and output must be symbolic, that of the inputs the same symbol, and no tensor may have strings or dimensions
// that data decides.
int64_t mostItems(const fathom_artifact &Artifact);

class BatchRunner {
public:
  BatchRunner() = default;
  BatchRunner(const BatchRunner &) = delete;
  BatchRunner &operator=(const BatchRunner &) = delete;
  ~BatchRunner() { fathom_context_free(Context); }

  [[nodiscard]] fathom_status *init(fathom_model *SharedModel, const fathom_context_options *Options);

  // Sets the outputs or the failure of each. Where one spoils the run of all, each runs by itself. Tells how many runs
  // there were.
  int64_t run(const RequestList &Requests);

  // Whether an output turned out to have other rows than one for each item: nothing of this model is to be joined.
  bool isUnfit() const { return Unfit; }
  int32_t threads() const { return fathom_context_threads(Context); }

private:
  [[nodiscard]] fathom_status *runAlone(fathom_request &Request);
  [[nodiscard]] fathom_status *runJoined(const RequestList &Requests);
  [[nodiscard]] fathom_status *planOutputs(const fathom_tensor *Inputs);
  bool haveRowsOfItems(int64_t Items, int64_t Alone) const;
  [[nodiscard]] fathom_status *keepDataSized(fathom_request &Request);
  [[nodiscard]] fathom_status *gather(const RequestList &Requests, int64_t Items);
  [[nodiscard]] fathom_status *placeJoined();
  [[nodiscard]] fathom_status *split(const RequestList &Requests, int64_t Items);

  fathom_model *Model = nullptr; // kept alive by the context
  fathom_context *Context = nullptr;
  bool Unfit = false;

  // Of the joined run; kept, so that runs of sizes that were there before allocate nothing here.
  Array<fathom_tensor> Inputs, Outputs;
  Array<int64_t> InputDims, OutputDims, DimsAlone; // of the outputs of a request by itself
  Array<const int64_t *> InputDimsOf;
  Array<int64_t *> OutputDimsOf;
  Buffer InputMemory, OutputMemory;
};

} // namespace fathom

#endif
