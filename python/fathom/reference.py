"""The implementations that results are compared with: ONNX Runtime and ONNX's own reference."""

from __future__ import annotations

import os

from .errors import Error


def _missing(package: str) -> Error:
    return Error(
        f"the package '{package}' is not installed",
        "F5001",
        5,
        hint=f"install it with 'pip install {package}', or set FATHOM_PYTHON to a Python that has it",
    )


def import_onnx():
    try:
        import onnx
    except ImportError as error:
        raise _missing("onnx") from error
    return onnx


# ONNX Runtime's Python has the bytes of these, not the type; other floats of a byte it does not give out at all.
_FLOATS_OF_A_BYTE = {"tensor(float8e4m3fn)": "float8_e4m3fn"}


class OnnxRuntime:
    name = "onnxruntime"

    def __init__(self, model: bytes, folder: str, threads: int):
        try:
            import onnxruntime
        except ImportError as error:
            raise _missing("onnxruntime") from error
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        options.intra_op_num_threads = threads
        # It would multiply dequantized weights with inputs that it quantizes itself, which the model does not say.
        options.add_session_config_entry("session.disable_quant_qdq", "1")
        # A model in memory has no folder of its own to look for its weights in.
        options.add_session_config_entry(
            "session.model_external_initializers_file_folder_path", os.path.abspath(folder)
        )
        try:
            self._session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        except Exception as error:
            raise Error(
                f"ONNX Runtime cannot load the model: {error}", "F5001", 5, hint="try --against reference"
            ) from error

    def run(self, names: list[str], inputs: dict) -> list:
        try:
            results = self._session.run(names, inputs)
        except Exception as error:
            raise Error(
                f"ONNX Runtime cannot run the model: {error}", "F5001", 5, hint="try --against reference"
            ) from error
        types = {output.name: _FLOATS_OF_A_BYTE.get(output.type) for output in self._session.get_outputs()}
        return [_typed(result, types[name]) for name, result in zip(names, results)]


def _typed(result, name: str | None):
    if name is None:
        return result
    import ml_dtypes

    return result.view(getattr(ml_dtypes, name))


class Reference:
    name = "reference"

    def __init__(self, model: bytes, folder: str, threads: int):
        onnx = import_onnx()
        from onnx.reference import ReferenceEvaluator

        proto = onnx.load_from_string(model)
        onnx.load_external_data_for_model(proto, folder)
        self._outputs = [output.name for output in proto.graph.output]
        try:
            self._evaluator = ReferenceEvaluator(proto)
        except Exception as error:
            raise Error(f"ONNX's reference cannot load the model: {error}", "F5001", 5) from error

    def run(self, names: list[str], inputs: dict) -> list:
        try:
            results = dict(zip(self._outputs, self._evaluator.run(None, inputs)))
        except Exception as error:
            raise Error(f"ONNX's reference cannot run the model: {error}", "F5001", 5) from error
        return [results[name] for name in names]


REFERENCES = {"onnxruntime": OnnxRuntime, "reference": Reference}
