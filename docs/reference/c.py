"""c.py [--write]: prints docs/reference/c.md, or writes it.

The reference of the C interface is what the header says: every declaration with the comment before it, under the first sentence of the part that it
stands in. tests/python/test_c_page.py holds the page against what this prints.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEADER = ROOT / "runtime" / "fathom_rt.h"
PAGE = pathlib.Path(__file__).with_name("c.md")
START = """# C

What `fathom_rt.h` declares, in its order; a program needs it and `libfathom_rt`, nothing else.
[`examples/run_model.c`](../../examples/run_model.c) is a whole one.
"""


def paragraphs(header):
    """The header's paragraphs between the guards, as lists of lines."""
    body = header.split('extern "C" {\n#endif', 1)[1].rsplit("#ifdef __cplusplus", 1)[0]
    return [lines for lines in (text.strip("\n").splitlines() for text in re.split(r"\n\n+", body)) if lines]


def declarations(lines):
    """(comment, code) for each declaration of a paragraph; the code is empty where a comment stands alone."""
    comment, code, depth = [], [], 0
    for line in lines:
        if line.startswith("//") and not code:
            comment.append(line.removeprefix("//").strip())
            continue
        code.append(line)
        depth += line.count("{") - line.count("}")
        text = re.sub(r" *//.*", "", line)
        if depth == 0 and (text.endswith(";") or (code[0].startswith("#define") and not text.endswith("\\"))):
            yield comment, code
            comment, code = [], []
    if comment or code:
        yield comment, code


def without_macro(code):
    """The declaration as a caller reads it: without what exports the symbol, the lines behind moved along."""
    macro = "FATHOM_API "
    if not code[0].startswith(macro):
        return code
    return [code[0].removeprefix(macro), *(line.removeprefix(" " * len(macro)) for line in code[1:])]


def joined(declared):
    """Declarations without a comment of their own belong to the one before: (comment, code)."""
    groups = []
    for comment, code in declared:
        if groups and not comment and groups[-1][1]:
            groups[-1][1].extend(without_macro(code))
        else:
            groups.append((comment, without_macro(code) if code else []))
    return groups


def page():
    parts = [START]
    for lines in paragraphs(HEADER.read_text()):
        if lines[0].startswith(("#if", "#define FATHOM_API")):
            continue
        for comment, code in joined(declarations(lines)):
            text = re.sub(r"docs/(\S+)\.md", r"[\1](../\1.md)", " ".join(comment))
            if not code:
                # A comment alone opens a part: "Status. A function that ..." or "Model: an artifact ...".
                title, text = re.fullmatch(r"(\w+)[.:] (.*)", text).groups()
                parts.append(f"## {title}\n")
                text = text[0].upper() + text[1:]
            if code:
                parts.append("```c\n" + "\n".join(code) + "\n```\n")
            if text:
                parts.append(text + "\n")
    return "\n".join(parts)


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        PAGE.write_text(page())
    else:
        print(page(), end="")
