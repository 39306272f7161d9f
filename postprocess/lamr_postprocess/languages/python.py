"""Python 3, and as much of Python 2 as the grammar takes."""

import ast
import builtins
import dataclasses
import warnings

from lamr_base.python_parser import PYTHON_PARSER

from lamr_postprocess.languages import scans
from lamr_postprocess.languages.plain import BACKSLASH, IN_PYTHON
from lamr_postprocess.languages.table import Comment, Language, ListKind, name_set

_BLOCK = ListKind(filler="pass")
# Brackets, because "..." alone would be read as a doctest that goes on.
_TEXT = ListKind(by_row=True, unless=frozenset({"interpolation"}), comment=Comment("[", "]"))
_ELEMENTS = ListKind(separators=frozenset({","}))
# A call or a signature of few rows is read as a whole. Of a longer one, parts with a name or a default can go; without
# a positional argument those after it would mean something else.
_ARGUMENTS = ListKind(separators=frozenset({","}), items=frozenset({"keyword_argument"}), least_rows=5)
_PARAMETERS = dataclasses.replace(
    _ARGUMENTS,
    items=frozenset({"default_parameter", "typed_default_parameter"}),
    unless=frozenset({"keyword_separator", "positional_separator"}),
)

# A function's own scope excludes its name, defaults and annotations, which are evaluated in the scope around it.
_NAMES = """
(identifier) @name
(function_definition) @scope
(function_definition|class_definition name: (identifier) @definition @outside)
(function_definition return_type: (type) @outside)
(class_definition) @scope.members
(class_definition superclasses: (_) @outside)
(class_definition type_parameters: (_) @outside)
[(lambda) (list_comprehension) (set_comprehension) (dictionary_comprehension) (generator_expression)] @scope.expression
(list_comprehension|set_comprehension|dictionary_comprehension|generator_expression
  . (_) . (for_in_clause right: (_) @outside))

(parameters|lambda_parameters|list_splat_pattern|dictionary_splat_pattern|pattern_list|
 tuple_pattern|list_pattern|as_pattern_target|splat_pattern (identifier) @variable)
(default_parameter|typed_default_parameter name: (identifier) @variable)
(default_parameter|typed_default_parameter value: (_) @outside)
(typed_default_parameter|typed_parameter type: (_) @outside)
(typed_parameter . (identifier) @variable)

(assignment|for_statement|for_in_clause left: (identifier) @variable)
(augmented_assignment left: (identifier) @update)
(named_expression name: (identifier) @variable.function)
(as_pattern_target (_ (identifier) @variable))
(as_pattern_target (_ (_ (identifier) @variable)))
(as_pattern (case_pattern) (identifier) @variable)
(case_pattern|keyword_pattern (dotted_name . (identifier) @variable .))
(case_pattern (as_pattern (identifier) @variable))
(keyword_pattern . (identifier) @ignore)
(type_alias_statement left: (type (identifier) @definition))
(type_alias_statement left: (type (generic_type (identifier) @definition)))
(class_definition type_parameters: (type_parameter (type [
  (identifier) @variable
  (constrained_type . (type (identifier) @variable))
  (splat_type (identifier) @variable)])))
(function_definition type_parameters: (type_parameter (type [
  (identifier) @variable
  (constrained_type . (type (identifier) @variable))
  (splat_type (identifier) @variable)])))

(import_statement|aliased_import name: (dotted_name (identifier) @ignore))
(import_statement name: (dotted_name . (identifier) @import))
(import_from_statement|future_import_statement name: (dotted_name (identifier) @import))
(import_from_statement module_name: (dotted_name (identifier) @ignore))
(import_from_statement module_name: (relative_import (dotted_name (identifier) @ignore)))
(import_from_statement (wildcard_import) @import.all)
(future_import_statement name: (aliased_import name: (dotted_name (identifier) @import)))
(aliased_import alias: (identifier) @import)

(attribute attribute: (identifier) @ignore)
(keyword_argument name: (identifier) @ignore)
(global_statement (identifier) @declare.global)
(nonlocal_statement (identifier) @declare.enclosing)
(type) @implicit
(type [(string (string_content) @quoted) (binary_operator (string (string_content) @quoted))])
(subscript value: [(identifier) (attribute)] @_generic
  subscript: [(string (string_content) @quoted) (list (string (string_content) @quoted))]
  (#match? @_generic "(^|[.])[A-Z][A-Za-z]*$"))
(assignment type: (type (identifier) @_alias) right: (string (string_content) @quoted) (#eq? @_alias "TypeAlias"))
(call function: [(identifier) (attribute)] @_cast arguments: (argument_list . (string (string_content) @quoted))
  (#match? @_cast "^([A-Za-z_]+[.])?(cast|ForwardRef)$"))
(call function: [(identifier) (attribute)] @_fields
  arguments: (argument_list [
    (keyword_argument value: (string (string_content) @quoted))
    (dictionary (pair value: (string (string_content) @quoted)))
    (list (tuple (_) . (string (string_content) @quoted)))])
  (#match? @_fields "^([A-Za-z_]+[.])?(NamedTuple|TypedDict)$"))
(keyword_argument name: (identifier) @_bound value: (string (string_content) @quoted) (#eq? @_bound "bound"))
"""


def _parses(text: str) -> bool:
    """Whether Python's own parser takes a text."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a file's invalid escapes don't concern the caller
        try:
            with PYTHON_PARSER:
                ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return False
    return True


_DEFINITIONS = """
(function_definition|class_definition name: (identifier) @name)
"""

PYTHON = Language(
    name="python",
    comment=Comment("#"),
    aliases=name_set("py python3 python2 cython"),
    suffixes=name_set(".py .pyi .pyw .pyx .pxd .pxi .bzl .bazel .star"),
    filenames=name_set("SConstruct SConscript wscript BUILD WORKSPACE BUCK Tiltfile Snakefile"),
    shebangs=frozenset({"python", "pypy", "ipython", "uv"}),
    frames=r"[})\]]|(?:elif|else|except|finally)\b",
    leading=r"@",
    stand_ins=("class $:", "def $():", "if $:"),
    hints=(
        r"^[ \t]*(async )?def \w+\(.*(:|,|\()[ \t]*(#.*)?$",
        r"^[ \t]*class \w+(\(.*\))?:[ \t]*$",
        r"^[ \t]*from [\w.]+ import [\w(*]",
        r"^import [\w.]+( as \w+)?(, *[\w.]+)*[ \t]*(#.*)?$",
        r"^[ \t]*(elif .*|except( .*)?|try|else|with .*|for .* in .*|if .*):[ \t]*$",
        r"^if __name__ == ",
    ),
    scan=scans.HASHED,
    grammar="tree_sitter_python:language",
    lists={
        "module": ListKind(),
        "block": _BLOCK,
        "function_definition>block": ListKind(filler="pass", results=frozenset({"return_statement"})),
        "class_definition>block": ListKind(filler="pass", counter=r"\w+\s*(?::[^=\n]*)?=\s*(?:\w+\.)*auto\("),
        "except_clause>block": ListKind(filler="pass", endings=frozenset({"raise_statement"})),
        "match_statement>block": ListKind(keep_first=True),
        "expression_statement>string": _TEXT,
        "string": dataclasses.replace(_TEXT, least_rows=20),
        "list|dictionary|set|tuple": _ELEMENTS,
        "argument_list": _ARGUMENTS,
        "parameters": _PARAMETERS,
        "concatenated_string": ListKind(keep_first=True, separators=frozenset({","})),
        "import_from_statement": ListKind(
            keep_first=True, separators=frozenset({","}), items=frozenset({"name"})
        ),
    },
    companions=name_set("elif_clause else_clause except_clause finally_clause"),
    directives=(
        r"from __future__ import [^\n]*\b(?:division|unicode_literals|print_function)\b"
        r"|#[ \t]*(?:type:[ \t]*ignore|mypy:|pyright:|cython:|distutils:)"
    ),
    asides=r"#[ \t]*type:[ \t]*\(",
    opaque=frozenset({"string"}),
    names=_NAMES,
    definitions=_DEFINITIONS,
    builtins=frozenset(dir(builtins))
    | {"__file__", "__path__", "WindowsError", "unicode", "xrange", "basestring"},
    wholes=IN_PYTHON,
    goes_on=BACKSLASH,
    implicit_name="annotations",
    members_visible=False,
    parses=_parses,
    continuation="\\",
)
