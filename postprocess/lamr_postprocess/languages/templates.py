"""Files that become another file: templates, and names that carry another name.

`Dockerfile.j2` holds a Dockerfile with tags of Jinja between its lines. It is pruned as what it becomes, line by line:
its comments are those of a Dockerfile. A tag is never cut in half, and a line inside a block of tags keeps the block's
beginning, its branches and its end."""

import re
from collections.abc import Mapping
from functools import partial

from lamr_base.expressions import expression

from lamr_postprocess.languages.table import AtomicSpan, Template, name_set

# fmt: off
tag = partial(AtomicSpan, says_nothing=True)  # alone in its line, it is no head of others
_BRACES = (tag(r"\{\{!--", r"--\}\}"), tag(r"\{\{", r"\}\}"))
_MARKERS = r"<%[-=#]*\s*"

JINJA = Template("jinja", suffixes=name_set(".j2 .jinja .jinja2 .njk .nunjucks .twig .liquid .tera .dtl"),
    tags=(tag(r"\{#", r"#\}"), tag(r"\{%", r"%\}"), *_BRACES),
    opens=r"\A\{%[-+~]?\s*(?P<name>(?!end|else|elif)\w+)",
    goes_on=r"\A\{%[-+~]?\s*(?:else|elif|elsif|elseif|when)\b", closes=r"\A\{%[-+~]?\s*end(?P<name>\w+)",
    indents=r"\bindent\(\s*(?:width\s*=\s*)?(\d+)", signs=r"^[ \t]*\{%[-+~]?\s*\w+|\{%[-+~]?\s*end\w+")
GO = Template("go", suffixes=name_set(".gotmpl .gohtml .gotpl .tmpl .tpl"),
    tags=(tag(r"\{\{-?\s*/\*", r"\*/\s*-?\}\}"), tag(r"\{\{", r"\}\}")),
    opens=r"\A\{\{-?\s*(?:if|range|with|define|block)\b", goes_on=r"\A\{\{-?\s*else\b", closes=r"\A\{\{-?\s*end\b",
    indents=r"\bn?indent\s+(\d+)", signs=r"^[ \t]*\{\{-?\s*(?:if|range|with|define|end|include|template|block|/\*)",
    becomes="text")
ERB = Template(
    "erb",
    suffixes=name_set(".erb .rhtml .ejs .eex .leex .heex .ecr .jsp .asp .aspx .ascx .master"),
    tags=(tag(r"<%--", r"--%>"), tag(r"<%", r"%>")),
    opens=rf"\A{_MARKERS}(?:if|unless|while|until|case|for|begin)\b(?![\s\S]*\{{\s*-?%>)|\bdo(?:\s*\|[^|]*\|)?\s*-?%>\Z"
    rf"|(?:fn|cond)\b[\s\S]*->\s*%>\Z|\A{_MARKERS}(?!\}})[\s\S]*\{{\s*[-_]?%>\Z",
    goes_on=rf"\A{_MARKERS}(?:else|elsif|when|rescue|ensure|in)\b|\A{_MARKERS}\}}[\s\S]*\{{\s*[-_]?%>\Z",
    closes=rf"\A{_MARKERS}(?:end\b|\}}(?![\s\S]*\{{\s*[-_]?%>))",
    signs=r"^[ \t]*<%[-=#@]?\s",
)
HANDLEBARS = Template("handlebars", suffixes=name_set(".hbs .handlebars .mustache .hogan"), tags=_BRACES,
    opens=r"\A\{\{~?[#^]\s*[>*]?\s*(?P<name>[\w.@/-]+)", goes_on=r"\A\{\{~?\s*(?:else\b|\^\s*~?\}\})",
    closes=r"\A\{\{~?/\s*(?P<name>[\w.@/-]+)", signs=r"^[ \t]*\{\{~?[#/]\s*\w")
BLADE = Template(
    "blade",
    suffixes=name_set(".blade.php"),
    tags=(
        tag(r"\{\{--", r"--\}\}"),
        tag(r"\{\{|\{!!", r"!!\}|\}\}"),
        tag(r"(?<![\w@])@[a-zA-Z]+(?:[ \t]*\((?:[^()\n]|\([^()\n]*\))*\))?"),
    ),
    opens=r"\A@(?P<name>(?!end|else|case\b|default\b)[a-zA-Z]+)",
    goes_on=r"\A@(?:else\w*|case|default|empty\Z)",
    closes=r"\A@(?:end(?P<name>[a-zA-Z]+))",
)
RAZOR = Template("razor", suffixes=name_set(".cshtml .razor .vbhtml"), tags=(tag(r"@\*", r"\*@"),))

TEMPLATES = (JINJA, ERB, HANDLEBARS, GO, BLADE, RAZOR)
"""In the order in which a text without a template's ending is looked at."""

GENERIC = frozenset({GO.name})
"""Engines whose endings others use, too: a text with another one's tags is the other's."""

TEMPLATE_SUFFIXES: Mapping[str, Template] = {
    suffix: template for template in TEMPLATES for suffix in template.suffixes
}

_TAGS = expression(r"[{<][%{]")  # what all signs have

CARRIED = name_set(
    ".example .sample .dist .default .defaults .in .template .tpl .tmpl .orig .bak .backup .old .save .saved .local "
    ".disabled .off .rpmnew .rpmsave .dpkg-dist .dpkg-old .swp .tt .mako .jst"
)
"""Endings that say that a file is a copy or a pattern of the file whose name stands before them."""

MAY_BE_TEMPLATES = name_set("html xml yaml sql ini toml shell dockerfile markdown css")
"""Languages in which a file with a name of its own may be a template, as Helm's charts and Django's pages are."""


def template_in(text: str) -> Template | None:
    """The engine whose tags begin a line of a text."""
    if not _TAGS.search(text):
        return None
    return next((each for each in TEMPLATES if re.search(each.signs, text, re.MULTILINE)), None)
