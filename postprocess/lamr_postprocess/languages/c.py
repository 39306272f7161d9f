"""C, and C++ on top of it. Preprocessor branches are compound statements; macros are definitions."""

import dataclasses

from lamr_postprocess.languages import scans
from lamr_postprocess.languages.plain import CONDITIONS_OF_C, LIKE_C
from lamr_postprocess.languages.table import (
    BLOCK_COMMENT,
    FALLS_THROUGH,
    Comment,
    Language,
    ListKind,
    name_set,
)

_ELEMENTS = ListKind(separators=frozenset({","}))
_BRANCH = ListKind(fixed=frozenset({"name", "condition", "alternative"}))
_CASE_ENDS = name_set(
    "break_statement return_statement continue_statement goto_statement compound_statement throw_statement"
)
_BODY = ListKind(results=frozenset({"return_statement"}))

_NAMES = """
[(identifier) (type_identifier)] @name
(function_definition) @scope
[(compound_statement) (for_statement)] @scope.expression
(function_declarator declarator: (identifier) @definition @outside)
(init_declarator|declaration|pointer_declarator|array_declarator|parameter_declaration
  declarator: (identifier) @variable)
(parenthesized_declarator (pointer_declarator declarator: (identifier) @variable))
(struct_specifier|union_specifier|enum_specifier name: (type_identifier) @definition body: (_))
(enumerator|preproc_def|preproc_function_def name: (identifier) @definition)
(type_definition declarator: (type_identifier) @definition)
(type_definition declarator: (pointer_declarator declarator: (type_identifier) @definition))
(type_definition declarator: (function_declarator
  declarator: (parenthesized_declarator (pointer_declarator declarator: (type_identifier) @definition))))
(preproc_params (identifier) @ignore)
(labeled_statement label: (statement_identifier) @definition)
(goto_statement label: (statement_identifier) @name)
(assignment_expression left: (identifier) @update)
"""

_DEFINITIONS = """
(function_declarator declarator: (identifier) @name)
(struct_specifier|union_specifier|enum_specifier name: (type_identifier) @name body: (_))
(type_definition declarator: (type_identifier) @name)
(preproc_function_def name: (identifier) @name)
"""

# How lines begin that close a block or go on with it; labels stand as far left as what they are in, or further.
_FRAMES = r"[{})\]]|(?:else|case|default|public|private|protected|signals|Q_SIGNALS)\b|\w+[ \t]*:(?!:)"
_MACRO = r"[A-Z][A-Z0-9_]{0,60}[A-Z0-9](?:\([^()\n]{0,200}\))?"
# The macros that stand where the grammar knows none: before the name of a type, in place of a keyword, alone on a line,
# before a declaration, and behind a declarator. Repetitions are bounded, so that no text takes time of its square.
_MACROS = (
    (
        rf"\b(?:class|struct|union)[ \t]+({_MACRO}|[a-z]\w{{0,60}}_(?:API|EXPORT))\s+[A-Za-z_][\w:<>]*\s*"
        r"(?:final\b\s*)?(?::[^:]|\{|\r?$)",
        "",
    ),
    (r"^[ \t]*(Q_SIGNALS|signals)[ \t]*:", "public"),
    (r"\b(?:public|private|protected)([ \t]+(?:slots|Q_SLOTS))[ \t]*:", ""),
    (r"^[ \t]*([A-Z][A-Z0-9_]{2,60}[ \t]*(?:\((?:[^()]|\([^()]{0,200}\)){0,400}\))?)[ \t\r]*$", ""),
    (rf"\b({_MACRO})[ \t]+[\w:<>*&, \t]{{1,120}}[ \t*&]~?\w{{1,60}}[ \t]*[(;=]", ""),
    (rf"[)\w][ \t]+({_MACRO})[ \t]*(?:[;{{]|= |=0|\r?$)", ""),
)

# What CUDA and HIP put before functions and variables, and between a kernel's name and its arguments.
_KERNELS = (
    (r"\b(__(?:global|device|host|shared|constant|managed|grid_constant|forceinline|noinline)__)(?!\w)", ""),
    (
        r"\b(__(?:launch_bounds|cluster_dims|block_size|maxnreg)__[ \t]*\((?:[^()]|\([^()]{0,200}\)){0,400}\))",
        "",
    ),
    (r"[\w>]\s*(<<<(?:[^;<>]|<[^<>;]{0,200}>|<(?!<<)|>(?!>>)){1,600}>>>)\s*\(", ""),
)

C = Language(
    name="c",
    comment=Comment("//"),
    aliases=frozenset({"h"}),
    suffixes=frozenset({".c", ".h"}),
    frames=_FRAMES,
    ending="}",
    leading=r"[^#/*\s]",
    wholes=LIKE_C,
    words=(CONDITIONS_OF_C,),
    stand_ins=("struct $ {", "void $() {", "{"),
    macros=_MACROS,
    misread=(
        *(rf"{keyword}[ \t]+[A-Z][A-Z0-9_]" for keyword in ("class", "struct", "union")),
        "[a-z0-9]_(?:API|EXPORT)",
    ),
    preprocessed=True,
    hints=(
        r"^#[ \t]*include [<\"]",
        r"^#[ \t]*(define|ifdef|ifndef|endif)\b",
        r"^(static |extern |const |inline )*(int|void|char|size_t|double|struct \w+) \**\w+\([^;]*\)?[ \t]*{?$",
        r"^typedef (struct|enum|union)\b",
    ),
    scan=scans.C,
    grammar="tree_sitter_c:language",
    lists={
        "comment": BLOCK_COMMENT,
        "translation_unit|compound_statement": ListKind(separators=frozenset({";"})),
        "function_definition>compound_statement": _BODY,
        "declaration_list|preproc_else": ListKind(),
        "case_statement": ListKind(fixed=frozenset({"value"}), endings=_CASE_ENDS, falls=True),
        "case_statement>compound_statement": ListKind(separators=frozenset({";"}), endings=_CASE_ENDS),
        "field_declaration_list": ListKind(separators=frozenset({";"})),
        "enumerator_list": dataclasses.replace(_ELEMENTS, valued=frozenset({"value"})),
        "initializer_list": _ELEMENTS,
        "preproc_if|preproc_ifdef|preproc_elif|preproc_elifdef": _BRANCH,
    },
    companions=name_set("else_clause preproc_elif preproc_elifdef preproc_else"),
    labels=frozenset({"case_statement"}),
    sections=r"#[ \t]*pragma[ \t]+(?:pack|(?:GCC|clang)[ \t]+(?:visibility|optimize|push_options|pop_options))\b",
    remarks=r"#[ \t]*pragma[ \t]+(?:omp|acc|(?:no)?unroll|ivdep|simd|(?:GCC|clang)[ \t]+(?:unroll|ivdep|loop))\b",
    asides=FALLS_THROUGH,
    opaque=name_set("string_literal preproc_def preproc_function_def preproc_call"),
    names=_NAMES,
    definitions=_DEFINITIONS,
    continuation="\\",
)

CPP = dataclasses.replace(
    C,
    name="cpp",
    extends="c",
    aliases=name_set("c++ cc cxx hpp"),
    suffixes=name_set(".cpp .cc .cxx .c++ .hpp .hh .hxx .ipp .tpp .inl .cu .cuh .ino"),
    macros=_MACROS + _KERNELS,
    hints=(
        r"^#[ \t]*include <(iostream|vector|string|memory|map|algorithm|utility)>",
        r"^[ \t]*(namespace [\w:]+ ?{|using namespace \w+;|template ?<)",
        r"^[ \t]*(public|private|protected):[ \t]*$",
        r"\bstd::\w+",
        r"^class \w+.*[{:]?$",
    ),
    grammar="tree_sitter_cpp:language",
    lists={**C.lists, "lambda_expression>compound_statement": _BODY},
    companions=C.companions | {"catch_clause"},
    opaque=C.opaque | {"raw_string_literal"},
    names=_NAMES
    + """
(namespace_identifier) @name
(lambda_expression) @scope
[(for_range_loop) (catch_clause)] @scope.expression
(field_declaration_list) @scope.members
(function_declarator declarator: (field_identifier) @definition @outside)
(field_declaration declarator: (field_identifier) @definition)
(field_declaration declarator: (pointer_declarator declarator: (field_identifier) @definition))
(class_specifier name: (type_identifier) @definition body: (_))
(namespace_definition name: (namespace_identifier) @definition)
(alias_declaration name: (type_identifier) @definition)
(concept_definition name: (identifier) @definition)
(type_parameter_declaration (type_identifier) @variable)
(optional_type_parameter_declaration name: (type_identifier) @variable)
(optional_parameter_declaration|for_range_loop declarator: (identifier) @variable)
(reference_declarator|structured_binding_declarator (identifier) @variable)
(qualified_identifier name: (identifier) @ignore)
(qualified_identifier name: (type_identifier) @ignore)
(using_declaration (qualified_identifier name: (identifier) @import))
(using_declaration "namespace") @import.all
""",
    definitions=_DEFINITIONS
    + """
(function_declarator declarator: [(field_identifier) (destructor_name) (operator_name)] @name)
(function_declarator declarator: (template_function name: (_) @name))
(function_declarator declarator: (qualified_identifier
  name: [(identifier) (destructor_name) (operator_name) (template_function) (qualified_identifier)] @name))
(operator_cast type: (_) @name)
(class_specifier name: (type_identifier) @name body: (_))
(namespace_definition name: (namespace_identifier) @name)
(alias_declaration name: (type_identifier) @name)
(concept_definition name: (identifier) @name)
""",
)
