"""Pages: HTML, Vue, Svelte and XML. A script or a style inside is read in its own language."""

from functools import partial

from lamr_postprocess.languages import scans
from lamr_postprocess.languages.plain import with_grammar
from lamr_postprocess.languages.table import ListKind, name_set

_ELEMENT = ListKind(fixed=name_set("start_tag end_tag"))
_INSIDE = """
(script_element (raw_text) @javascript)
(style_element (raw_text) @css)
"""
_LISTS = {"document": ListKind(), "element": _ELEMENT}
_page = partial(with_grammar, embedded=_INSIDE, padded=frozenset({"text"}))

_TYPED = r"<script\b[^<>]*\blang\b"
"""A script that says in which language the expressions around it are."""

HTML = _page("html", scan=scans.HTML, grammar="tree_sitter_html:language", lists=_LISTS)
VUE = _page(
    "vue",
    scan=scans.HTML,
    grammar="tree_sitter_html:language",
    lists={**_LISTS, "document": ListKind(core=r"script_element |element <template\b")},
    directives=_TYPED,
)
SVELTE = _page(
    "svelte",
    scan=scans.SVELTE,
    grammar="tree_sitter_svelte:language",
    lists={
        **_LISTS,
        "if_statement": ListKind(fixed=name_set("if_start if_end else_if_block else_block")),
        "else_if_block": ListKind(fixed=frozenset({"else_if_start"})),
        "else_block": ListKind(fixed=frozenset({"else_start"})),
        "each_statement": ListKind(fixed=name_set("each_start each_end else_block")),
        "await_statement": ListKind(fixed=name_set("await_start await_end then_block catch_block")),
        "then_block": ListKind(fixed=frozenset({"then_start"})),
        "catch_block": ListKind(fixed=frozenset({"catch_start"})),
        "key_statement": ListKind(fixed=name_set("key_start key_end")),
        "snippet_statement": ListKind(fixed=name_set("snippet_start snippet_end")),
    },
    directives=_TYPED,
    companions=name_set("else_if_block else_block then_block catch_block"),
    opaque=frozenset({"expression"}),
)
XML = with_grammar(
    "xml",
    scan=scans.XML,
    grammar="tree_sitter_xml:language_xml",
    lists={"content": ListKind()},
    comments=frozenset({"Comment"}),
    padded=frozenset({"CharData"}),
    opaque=name_set("CDSect doctypedecl AttValue PI"),
)
