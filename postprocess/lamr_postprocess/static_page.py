"""HTML pages that are read and not used: numbered lines in lists that open, and no script.

Such a page is self-contained; it runs nothing and loads nothing, and its policy forbids both."""

from html import escape

from lamr_base.errors import visible

_HEAD = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{title}</title>
<style>
:root {{ color-scheme:light dark; --ink:#1c2128; --paper:#fff; --quiet:#68717d; --line:#dde2e8; --cut:#8c959f;
  --orange:#c2570c; --green:#0f8a5f; --red:#cf222e }}
@media (prefers-color-scheme:dark) {{ :root {{ --ink:#e3e8ef; --paper:#12151a; --quiet:#8d96a3; --line:#2d333c;
  --cut:#6b7480; --orange:#f0973c; --green:#43c992; --red:#ff7b72 }} }}
body {{ max-width:120ch; margin:0 auto; padding:20px 24px 30vh; color:var(--ink); background:var(--paper);
  font:14px/1.5 system-ui,"Segoe UI",sans-serif }}
h1 {{ font-size:19px }} h2 {{ font-size:15px; margin:28px 0 6px }} .quiet {{ color:var(--quiet) }}
code, pre {{ font:13px/1.5 ui-monospace,Menlo,Consolas,monospace }} pre {{ overflow-x:auto }}
details {{ border-top:1px solid var(--line); padding:6px 0 }} summary {{ cursor:pointer }}
ol {{ list-style:none; padding:0; tab-size:4 }}
li {{ display:grid; grid-template-columns:7ch minmax(0,1fr); gap:1.5ch; border-left:4px solid transparent }}
li::before {{ content:attr(value); text-align:right; color:var(--quiet) }}
li code {{ white-space:pre-wrap; overflow-wrap:anywhere }}
{style}</style>
</head>
<body>
"""
_FOOT = "</body>\n</html>\n"


def static_page(title: str, style: str, body: str) -> str:
    """A whole page. `style`: the rules that this page has beside the common ones, whose colours are variables such as
    `--cut`. `body`: HTML whose texts are escaped (see `shown`)."""
    return _HEAD.format(title=shown(title), style=style) + body + _FOOT


def shown(text: str) -> str:
    """A line of text as HTML, its control characters as pictures."""
    return escape(visible(text, lines=True))


def shown_lines(text: str) -> str:
    """A text of several lines as HTML, its control characters as pictures, line ends apart."""
    return "\n".join(map(shown, text.split("\n")))
