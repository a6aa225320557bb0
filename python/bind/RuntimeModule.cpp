// The extension module fathom._runtime: the runtime's C interface for flat buffers. fathom/session.py gives them names
// and shapes.
#include "python/bind/RuntimeQueue.h"

namespace nb = nanobind;
using namespace fathom::python;

NB_MODULE(_runtime, module) {
  module.def("version", &fathom_version);
  module.def("check", [](const nb::bytes &file) {
    std::string path(file.c_str(), file.size());
    fathom_status *status;
    {
      nb::gil_scoped_release release;
      status = fathom_artifact_check(path.c_str());
    }
    check(status);
  });
  nb::class_<Model>(module, "Model")
      .def(nb::init<const nb::bytes &>(), nb::arg("path"))
      .def("inputs", [](const Model &model) { return model.tensors(true); })
      .def("outputs", [](const Model &model) { return model.tensors(false); })
      .def("aliases", &Model::aliases)
      .def("symbols", &Model::symbols)
      .def("kernels", &Model::kernels)
      .def("manifest", &Model::manifest)
      .def("variant", &Model::variant)
      .def(
          "runner",
          [](const Model &model, int threads, int device, uintptr_t stream, int limit) {
            return new Runner(model, threads, device, stream, limit);
          },
          nb::arg("threads"), nb::arg("device"), nb::arg("stream"), nb::arg("limit"), nb::rv_policy::take_ownership);
  nb::class_<Runner>(module, "Runner")
      .def("threads", &Runner::threads)
      .def("limit", &Runner::mostContexts)
      .def("contexts", &Runner::contexts)
      .def("output_dims", &Runner::outputDims)
      .def("run_arrays", &Runner::runArrays)
      .def("run_into", &Runner::runInto)
      .def("run", &Runner::run)
      .def("set_profiling", &Runner::setProfiling)
      .def("take_profile", &Runner::takeProfile);
  addQueues(module);
}
