"""ONNX Runtime on its CPU provider, with all graph optimisations, which are its default."""

import onnxruntime


def load(model, threads, folder):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    return lambda inputs: session.run(None, inputs), onnxruntime.__version__
