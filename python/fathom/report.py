"""What objects show of themselves in a notebook."""

from __future__ import annotations

import html


def html_table(caption: str, head: list[str], rows: list[list[str]]) -> str:
    """A table; names in a model are text, whatever they have in them."""

    def line(tag: str, words: list[str]) -> str:
        return "<tr>" + "".join(f"<{tag}>{html.escape(word)}</{tag}>" for word in words) + "</tr>"

    body = "".join(line("td", row) for row in rows)
    return f"<table><caption>{html.escape(caption)}</caption><thead>{line('th', head)}</thead><tbody>{body}</tbody></table>"
