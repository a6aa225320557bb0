"""OpenVINO's CPU plugin for the least latency, in single precision: on some machines its default is half."""

import openvino


def load(model, threads, folder):
    core = openvino.Core()
    properties = {"INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": 1, "PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32"}
    compiled = core.compile_model(core.read_model(model), "CPU", properties)
    request = compiled.create_infer_request()

    def run(inputs):
        results = request.infer(inputs, share_inputs=True, share_outputs=True)
        return [results[output] for output in compiled.outputs]

    return run, openvino.__version__.split("-")[0]
