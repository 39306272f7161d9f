"""Shell scripts, read as Bash."""

from __future__ import annotations

from lamr_postprocess.languages.plain import with_grammar
from lamr_postprocess.languages.table import ListKind, name_set

_COMMANDS = ListKind(filler=":")

SHELL = with_grammar(
    "shell",
    grammar="tree_sitter_bash:language",
    hints=(
        r"^[ \t]*(if|elif|while) (\[\[? |! |\w).*;? ?(then|do)?[ \t]*$",
        r"^[ \t]*(fi|done|esac)[ \t]*$",
        r"^(export |readonly )?[A-Z_]+=[\"$/\w]",
        r"^(set -[eux]+|source |\. )\S*",
        r"^(function )?\w+ ?\(\) ?\{[ \t]*$",
    ),
    lists={
        "program": ListKind(),
        "compound_statement": _COMMANDS,
        "subshell": _COMMANDS,
        "do_group": _COMMANDS,
        "if_statement": ListKind(filler=":", fixed=name_set("condition elif_clause else_clause")),
        "else_clause": _COMMANDS,
        "case_statement": ListKind(items=frozenset({"case_item"})),
        "case_item": ListKind(fixed=frozenset({"value"})),
        "array": ListKind(),
    },
    comments=frozenset({"comment"}),
    companions=name_set("elif_clause else_clause"),
    opaque=name_set("string raw_string ansi_c_string heredoc_body heredoc_redirect"),
    names="""
(command_name (word) @name)
(variable_name) @name
(function_definition name: (word) @definition)
(variable_assignment name: (variable_name) @variable)
(for_statement variable: (variable_name) @variable)
""",
    definitions="(function_definition name: (word) @name)",
    continuation="\\",
)
