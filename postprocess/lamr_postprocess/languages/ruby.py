"""Ruby."""

from lamr_postprocess.languages import scans
from lamr_postprocess.languages.plain import IN_RUBY
from lamr_postprocess.languages.table import Comment, Language, ListKind, name_set

_CLAUSES = frozenset({"rescue", "ensure", "else"})
_ELEMENTS = ListKind(separators=frozenset({","}))
_RESULTS = name_set("identifier return instance_variable call array hash string binary")

_NAMES = """
[(identifier) (constant)] @name
[(method) (singleton_method)] @scope
[(do_block) (block) (lambda)] @scope.expression
[(class) (module)] @scope.members
(method|singleton_method name: (identifier) @definition @outside)
(class|module name: (constant) @definition @outside)
(class superclass: (_) @outside)
(assignment left: (identifier) @variable)
(assignment left: (constant) @definition)
(operator_assignment left: (identifier) @update)
(left_assignment_list|method_parameters|block_parameters|lambda_parameters|destructured_parameter|
 exception_variable|array_pattern (identifier) @variable)
(optional_parameter|keyword_parameter|splat_parameter|hash_splat_parameter|block_parameter|
 as_pattern name: (identifier) @variable)
(rest_assignment|destructured_left_assignment (identifier) @variable)
(match_pattern|test_pattern|in_clause pattern: (identifier) @variable)
(keyword_pattern key: (hash_key_symbol) @variable !value)
(alias name: (identifier) @definition)
(for pattern: (identifier) @variable)
(keyword_pattern value: (identifier) @variable)
(call receiver: (_) method: (identifier) @ignore)
(call receiver: (_) method: (constant) @ignore)
(scope_resolution scope: (_) name: (constant) @ignore)
"""

_DEFINITIONS = """
(method|singleton_method name: (_) @name)
(class|module name: (constant) @name)
(call method: (identifier) @_kind arguments: (argument_list . [(simple_symbol) @name (string (string_content) @name)])
  block: (_) (#match? @_kind "^define(_singleton)?_method$")) @function
(assignment left: (constant) @name right: [(lambda) (call method: (identifier) @_kind block: (_))]
  (#any-of? @_kind "lambda" "proc")) @function
(assignment left: (constant) @name right: (call receiver: (constant) @_maker method: (identifier) @_kind)
  (#eq? @_kind "new") (#any-of? @_maker "Class" "Data" "Module" "Struct")) @type
(call method: (identifier) @_kind
  arguments: (argument_list . [(string . (string_content) @name) (constant) @name (scope_resolution) @name]) block: (_)
  (#any-of? @_kind "describe" "context" "feature" "it" "specify" "scenario" "test")) @function
"""

RUBY = Language(
    name="ruby",
    comment=Comment("#"),
    aliases=frozenset({"rb"}),
    suffixes=name_set(".rb .rake .gemspec .ru .rbi .gemfile .podspec .jbuilder .thor"),
    filenames=name_set(
        "Gemfile Rakefile Vagrantfile Guardfile Podfile Fastfile Brewfile Appraisals Capfile Dangerfile"
    ),
    shebangs=frozenset({"ruby", "rake", "jruby"}),
    frames=r"[})\]]|(?:end|else|elsif|when|in|rescue|ensure)\b",
    ending="end",
    wholes=IN_RUBY,
    stand_ins=("", "", "begin"),
    hints=(
        r"^[ \t]*def (self\.)?\w+[?!=]?(\(.*\))?[ \t]*$",
        r"^[ \t]*(class|module) [A-Z]\w*(::[A-Z]\w*)*( < [A-Z][\w:]*)?[ \t]*$",
        r"^require(_relative)? ['\"]",
        r"^[ \t]*end[ \t]*$",
        r"^[ \t]*attr_(reader|accessor|writer) :|\bdo \|\w+",
    ),
    scan=scans.RUBY,
    grammar="tree_sitter_ruby:language",
    lists={
        "comment": ListKind(by_row=True, comment=Comment("")),
        "program": ListKind(fixed=frozenset({"uninterpreted"})),
        "body_statement|begin": ListKind(fixed=_CLAUSES),
        "method|singleton_method>body_statement": ListKind(fixed=_CLAUSES, results=_RESULTS),
        "block_body|then|else|ensure|do": ListKind(),
        "case": ListKind(items=frozenset({"when"}), keep_first=True),
        "array|hash": _ELEMENTS,
    },
    companions=name_set("else elsif rescue ensure"),
    directives=r"#[ \t]*(?:-\*-[^\n]*)?(?:frozen_string_literal|(?:en)?coding|shareable_constant_value)\b|using [A-Z]",
    sections=r"(?:private|protected|public|module_function|private_class_method)[ \t]*(?:#[^\n]*)?$",
    opaque=name_set("string heredoc_body regex string_array symbol_array subshell"),
    names=_NAMES,
    definitions=_DEFINITIONS,
    continuation="\\",
)
