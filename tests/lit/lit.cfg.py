# How the lit tests run: one file a test, Fathom's tools before LLVM's. A .mlir file is a graph; a .test file has a model in
# ONNX's text form, which %onnx makes a file of.
import os

import lit.formats
from lit.llvm import llvm_config

config.name = "fathom"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.test_source_root = os.path.dirname(__file__)
config.environment["FATHOM_DB"] = "none"  # what somebody tuned on this machine changes no test
config.environment["FILECHECK_OPTS"] = "--enable-var-scope --allow-unused-prefixes=false"
llvm_config.use_default_substitutions()
llvm_config.add_tool_substitutions(["fathom", "fathom-opt"], [config.fathom_tools_dir])
config.substitutions.append(("%onnx", f"{config.python} {config.test_source_root}/onnx_text.py"))
llvm_config.add_tool_substitutions(["split-file"], [config.llvm_tools_dir])
