"""onnx_text.py TEXT MODEL: makes a model file of ONNX's text form."""
import pathlib
import sys

from onnx import parser

text, model = map(pathlib.Path, sys.argv[1:])
model.write_bytes(parser.parse_model(text.read_text()).SerializeToString())
