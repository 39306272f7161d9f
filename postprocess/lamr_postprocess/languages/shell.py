"""Shell scripts, read as Bash."""

from lamr_postprocess.languages import scans
from lamr_postprocess.languages.plain import with_grammar
from lamr_postprocess.languages.table import ListKind, name_set

_BETWEEN = frozenset({";", "&"})
_COMMANDS = ListKind(filler=":", separators=_BETWEEN)
_TEXT = r"""[^()"'\n]|"(?:[^"\\\n]|\\.)*"|'[^'\n]*'"""
_VALUE = rf"""(?:"(?:[^"\\\n]|\\.)*"|'[^'\n]*'|\$\{{[^}}\s]*\}}|\$?\((?:{_TEXT})*\)|\$[\w?#@*!$-]|[^\s;&|<>()"'`#$])*"""
# What the grammar reads otherwise than shells do: two assignments in a line, whose end it takes for a space; a loop
# over the script's own arguments; brackets within a test; a number with its base.
_MACROS = (
    (rf"^[ \t]*(?:\w+={_VALUE}[ \t]+)*\w+={_VALUE}([ \t])[ \t]*\w+={_VALUE}[ \t]*(?:[ \t]#.*)?\r?$", ";"),
    (r"^[ \t]*for[ \t]+\w+([ \t])[ \t]*do\b", ";"),
    (r"[ \t](\\[()])(?=[ \t]|$)", ""),
    (r"[\s(=*/+-](\d+#)(?=[$\w])", ""),
)

SHELL = with_grammar(
    "shell",
    scan=scans.SHELL,
    grammar="tree_sitter_bash:language",
    stand_ins=("", "$() {", "{"),
    macros=_MACROS,
    misread=(r"=[^\n=]*[ \t]\w+=",),
    hints=(
        r"^[ \t]*(if|elif|while) (\[\[? |! |\w).*;? ?(then|do)?[ \t]*$",
        r"^[ \t]*(fi|done|esac)[ \t]*$",
        r"^(export |readonly )?[A-Z_]+=[\"$/\w]",
        r"^(set -[eux]+|source |\. )\S*",
        r"^(function )?\w+ ?\(\) ?\{[ \t]*$",
    ),
    lists={
        "program": ListKind(separators=_BETWEEN),
        "compound_statement|subshell|do_group|else_clause": _COMMANDS,
        "if_statement": ListKind(
            filler=":", fixed=name_set("condition elif_clause else_clause"), separators=_BETWEEN
        ),
        "case_statement": ListKind(items=frozenset({"case_item"})),
        "case_item": ListKind(fixed=frozenset({"value"}), separators=_BETWEEN),
        "array": ListKind(),
    },
    companions=name_set("elif_clause else_clause"),
    opaque=name_set("string raw_string ansi_c_string heredoc_body heredoc_redirect"),
    names="""
(command_name (word) @name @command)
(variable_name) @name
(function_definition name: (word) @definition)
(variable_assignment name: (variable_name) @variable)
(for_statement variable: (variable_name) @variable)
(declaration_command (variable_name) @variable)
(compound_statement (binary_expression left: (variable_name) @update operator: ["=" "+=" "-=" "*=" "/=" "%="]))
(compound_statement (postfix_expression (variable_name) @update))
((command name: (command_name (word) @_command) argument: (word) @variable)
  (#any-of? @_command "read" "mapfile" "readarray" "getopts"))
((command name: (command_name (word) @_command) . argument: (word) @_option . argument: (word) @variable)
  (#eq? @_command "printf") (#eq? @_option "-v"))
""",
    definitions="(function_definition name: (word) @name)",
    misreadings=name_set("then elif else fi do done esac"),
    continuation="\\",
)
