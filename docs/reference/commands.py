"""commands.py [--write]: prints docs/reference/commands/*.md, a page for each command, or writes them and the table in docs/user/cli.md that leads to them.

The tool says all of it: `fathom help --markdown`. tests/errors/test_command_line.py holds the pages against what it says.
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = pathlib.Path(__file__).with_name("commands")
OVERVIEW = ROOT / "docs" / "user" / "cli.md"
MARKER = "<!-- Printed by `python docs/reference/commands.py --write`; a test holds it against what that prints. -->\n"


def pages(markdown):
    """The text of each page by its command, of what `fathom help --markdown` prints."""
    _, *parts = re.split(r"^### fathom (\w+)\n", markdown, flags=re.M)
    return {name: f"{MARKER}# fathom {name}\n{text.rstrip()}\n" for name, text in zip(parts[::2], parts[1::2])}


def table(made):
    """What leads to the pages: a row for each, with the line that says what the command does."""
    summary = lambda text: re.search(r"^usage: .*\n\n(.*)$", text, re.M)[1]
    rows = [f"| [`{name}`](../reference/commands/{name}.md) | {summary(text)} |" for name, text in made.items()]
    return "\n".join(["| command | |", "|---|---|", *rows, ""])


def main():
    told = subprocess.run([ROOT / "build/bin/fathom", "help", "--markdown"], check=True, stdout=subprocess.PIPE, text=True).stdout
    made = pages(told)
    if sys.argv[1:] != ["--write"]:
        return print("\n".join(made.values()), end="")
    FOLDER.mkdir(exist_ok=True)
    for old in FOLDER.glob("*.md"):
        old.unlink()
    for name, text in made.items():
        (FOLDER / f"{name}.md").write_text(text)
    OVERVIEW.write_text(re.sub(r"^\| command \| \|\n(\|.*\n)*", table(made), OVERVIEW.read_text(), flags=re.M))


if __name__ == "__main__":
    main()
