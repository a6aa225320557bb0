"""The order of the compiler's rooms."""
import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "rooms"))
import rooms


def test_no_include_runs_back():
    assert len(rooms.sources(ROOT)) > 300 and list(rooms.problems(ROOT)) == []


@pytest.mark.parametrize("path, text, problem", [
    ("low/A.h", '#include "compiler/high/B.h"\n', "compiler/low/A.h: includes high/B.h, which is behind it in compiler/rooms.txt"),
    ("high/A.h", '#include "compiler/low/B.h"\n', None),
    ("high/sub/A.cpp", "", "compiler/high/sub: not in compiler/rooms.txt"),
    ("codegen/x/A.cpp", '#include "compiler/cost/B.h"\n', "compiler/codegen/x/A.cpp: includes cost/B.h, but code generation decides nothing"),
    ("own/A.h", '#include "compiler/own/B.h"\n', None),
    ("driver/Backends.cpp", '#include "compiler/own/B.h"\n', None),
    ("driver/A.cpp", '#include "compiler/own/B.h"\n',
     "compiler/driver/A.cpp: includes own/B.h of a back end, which only compiler/driver/Backends.cpp knows"),
])
def test_tells_what_breaks_it(tmp_path, path, text, problem):
    file = tmp_path / "compiler" / path
    file.parent.mkdir(parents=True)
    file.write_text(text)
    (tmp_path / "compiler" / "rooms.txt").write_text("# order\nlow   first\nhigh  second\ncost  models\ncodegen/x  code\nown *  a back end\ndriver  last\n")
    assert list(rooms.problems(tmp_path)) == ([problem] if problem else [])
