// oneDNN's convolution. It chooses the algorithm and the layout of the weights, which are packed ahead.
#include "bench/kernels/Contestant.h"

#include <cstring>
#include <dnnl.hpp>

namespace fathom::bench {
namespace {

using namespace dnnl;
using Format = memory::format_tag;

class OneDnnContestant : public Contestant {
public:
  OneDnnContestant(const Problem &problem, const ProblemData &data)
      : engine(engine::kind::cpu, 0), stream(engine), values(problem.rows() * problem.outputs) {
    memory::dims inputDims{1, problem.inputs, problem.height, problem.width},
        weightDims{problem.outputs, problem.inputs, problem.window, problem.window},
        outputDims{1, problem.outputs, problem.outputHeight(), problem.outputWidth()},
        strides{problem.stride, problem.stride}, padding{problem.padding(), problem.padding()};
    auto describe = [](const memory::dims &dims, Format format) {
      return memory::desc(dims, memory::data_type::f32, format);
    };
    convolution_forward::desc wanted(prop_kind::forward_inference, algorithm::convolution_auto,
                                     describe(inputDims, Format::nhwc), describe(weightDims, Format::any),
                                     describe(outputDims, Format::nhwc), strides, padding, padding);
    convolution_forward::primitive_desc chosen(wanted, engine);
    convolution = convolution_forward(chosen);
    input = memory(chosen.src_desc(), engine);
    output = memory(chosen.dst_desc(), engine, values.data());
    weight = memory(chosen.weights_desc(), engine);
    std::memcpy(input.get_data_handle(), data.input.data(), data.input.size() * sizeof(float));
    memory given(describe(weightDims, Format::ohwi), engine, const_cast<float *>(data.weight.data()));
    reorder(given, weight).execute(stream, given, weight);
    stream.wait();
  }
  void run() override {
    convolution.execute(stream, {{DNNL_ARG_SRC, input}, {DNNL_ARG_WEIGHTS, weight}, {DNNL_ARG_DST, output}});
    stream.wait();
  }
  std::vector<float> result() const override { return values; }

private:
  engine engine;
  stream stream;
  std::vector<float> values;
  convolution_forward convolution;
  memory input, weight, output;
};

} // namespace

std::unique_ptr<Contestant> makeOneDnn(const Problem &problem, const ProblemData &data) {
  return std::make_unique<OneDnnContestant>(problem, data);
}

} // namespace fathom::bench
