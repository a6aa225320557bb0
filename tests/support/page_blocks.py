"""What of the pages' blocks of code is not run, and why; what another stage of the tests than `python` runs; and what stands for the reader's own.

By page and by a block's first line. A block that is in no table is run, and one that is here and not in its page is an error.
"""

BUILDS = "builds everything, as root and from the network: it is what these tests run in"
WHEELS = "builds wheels and installs packages from the network; the stage `wheel` does both, in an environment of its own"
EXCERPT = "shows what is printed or in a file; there is nothing to run"
MANY_MACHINES = "needs a server, or a cluster, elsewhere; tests/errors does it with ones of its own"

NOT_RUN = {
    "README.md": {
        "./dev demo     # installs what is missing, builds, compiles MobileNet V2, verifies it, times it beside ONNX Runtime": BUILDS,
    },
    "android.md": {
        "cmake -S examples -B build-android -DCMAKE_TOOLCHAIN_FILE=$NDK/build/cmake/android.toolchain.cmake -DANDROID_ABI=arm64-v8a -DANDROID_PLATFORM=android-28":
            "needs Android's NDK, which is no package of Debian's, and a device",
    },
    "devices.md": {
        'session = fathom.Session("resnet18.fathom", stream=torch.cuda.current_stream().cuda_stream)': "needs a GPU of NVIDIA and PyTorch",
    },
    "errors.md": {
        "error: [F3001] node 'odd': operator Frobnicate (operator set 21) is not supported": EXCERPT,
    },
    "exports.md": {
        "python -m venv exporters && exporters/bin/pip install torch torchvision torchaudio timm transformers diffusers onnx onnxscript onnxruntime":
            "installs gigabytes from the network, and takes hours",
    },
    "functional.md": {
        "type List<A> { Nil, Cons(A, List<A>) }": "a declaration alone is no program; tests/functional has whole ones",
    },
    "gallery.md": {
        "./dev bench models --all --threads 1,2 --json results.json": "takes half an hour of an idle machine",
    },
    "install.md": {
        "./dev wheel                                   # build/wheels/*.whl": WHEELS,
        "./dev build": "builds everything and writes into /opt; the stage `install` installs into a folder of its own",
        "./dev wheel": "needs Docker, and an image from the network",
    },
    "plan.md": {
        "fathom-plan:     3": EXCERPT,
        "    schedule:": EXCERPT,
        "error: [F1009] node '/conv1': Conv: kernel 'relu1': a tile of 16 x 8 needs 50 vector registers and neoverse-v1 has 32": EXCERPT,
        "kernel relu1: tile_m 10 -> 8, task_m 260 -> 256": EXCERPT,
    },
    "quickstart.md": {
        "git clone <this repository> fathom && cd fathom": BUILDS,
    },
    "searches.md": {
        "./dev bench tune searches                            # by the model of the code, which needs no quiet machine": "takes hours",
    },
    "serving.md": {
        "pip install -r requirements-ray.txt": "needs a cluster of several machines; tests/serve/test_ray.py runs the example on one of its own",
    },
    "stages.md": {
        "// kernel Conv_Relu_features.1 for x86_64-unknown-linux-gnu:x86-64-v3: contract tile_m=6 tile_n=16 ...": EXCERPT,
    },
    "tuning.md": {
        "fathom tune model.onnx --db postgresql://ada@schedules.example.org/kernels": MANY_MACHINES,
        '{"class":"contract","cycles":1000.5,"found":"static","fp":"fast","generator":"1","kernel":"5d41...","machine":"",'
        '"nanoseconds":0,"provenance":"","samples":0,': EXCERPT,
        "ssh://[USER@]HOST[:PORT][/FOLDER]": EXCERPT,
        "fathom tune resnet50.onnx --tune static:64 --db postgresql://ada@db/kernels --ray HOST:6379 --ray-tasks 4": MANY_MACHINES,
        "pip install -r requirements-ray.txt                     # on all of them, beside the package fathom": MANY_MACHINES,
    },
}

# Those that need what only another stage installs: its test_pages.py runs them.
STAGES = {
    "android.md": {
        "fathom compile model.onnx --target cortex-a76 -o model.fathom": "cross",
    },
    "install.md": {
        "find_package(fathom_rt 1.0 REQUIRED)": "install",
        "c++ -std=c++20 program.cpp $(pkg-config --cflags --libs fathom_rt)": "install",
    },
    "jax.md": {
        "import fathom": "jax",
    },
    "serving.md": {
        "python -m fathom.serve model.fathom second=other.onnx --max-batch 8 --port 8000": "serve",
        "import numpy as np": "serve",
        """curl -s 127.0.0.1:8000/v2/models/model/infer -d '{"inputs": [{"name": "x", "shape": [1, 3], "datatype": "FP32", "data": [1, 2, 3]}]}'""": "serve",
    },
    "torch.md": {
        'import fathom.torch  # installed by pip, the name alone is enough: backend="fathom"': "torch",
        'batch = torch.export.Dim("batch", min=1, max=64)': "torch",
    },
}

# What a reader would put there.
PLACEHOLDERS = {
    "tuning.md": {
        "KERNEL": "y",
        "0a1b2c": "$(fathom db list | awk 'NR == 2 { print $1 }')",
        "colleague.db": "team.db",
    },
}
