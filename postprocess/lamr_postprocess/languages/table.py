"""What a language is to this package: a row of a table.

One `Language` names node kinds of a tree-sitter grammar and the syntax of comments; the engine (`outline`, `names`,
`repair`, `render`) reads it and contains no language of its own. A language without a grammar has only names and
comments, and is pruned line by line."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from functools import cached_property, lru_cache, partial

from lamr_base.records import dataclass

from lamr_postprocess.frames import Frames
from lamr_postprocess.lines import BoolArray

BRACKETS = {"(": ")", "[": "]", "{": "}"}

NEVER = r"(?!)"
"""An expression that fits nothing."""


def name_set(text: str) -> frozenset[str]:
    """The names in a text, separated by spaces, as a set: a compact form for columns of many names."""
    return frozenset(text.split())


@dataclass(frozen=True)
class Comment:
    """How a marker stands on a line of its own: `opening`, the text, `closing`.

    In a format without comments these are the two ends of a text in quotes, and `last` closes it where nothing follows
    in its list. With `flush`, it begins in the first column, as fixed forms want it."""

    opening: str
    closing: str = ""
    last: str | None = None
    flush: bool = False

    def wrap(self, text: str, *, is_last: bool = False) -> str:
        """The marker's text as a comment; `is_last` says that the list around ends behind it."""
        closing = self.closing if self.last is None or not is_last else self.last
        if not self.opening or (len(self.opening) > 1 and self.opening.endswith(('"', " "))):
            return f"{self.opening}{text}{closing}"
        return f"{self.opening} {text}{closing and ' ' + closing}"


@dataclass(frozen=True)
class AtomicSpan:
    """What can't be parted in a text without a tree: a comment, a string, a here-document, a front matter."""

    # a regular expression (multi-line mode) of how it begins, of all of it where `closing` is empty. A group `tag`
    # may capture what the end repeats.
    opening: str
    # a regular expression of how it ends, searched for from the end of the opening; `{tag}` stands for what the group
    # `tag` captured, and `{indent}` for as many spaces. What isn't closed is no such thing.
    closing: str = ""
    # whether the closing is all that follows the opening, so that it is matched there and not searched for
    at_once: bool = False
    holds: bool = False  # whether others that don't hold any may begin in it, and end where they do
    # whether it begins in the next row, after others that began before it in the same row (a here-document)
    waits: bool = False
    # whether it is a comment or the like, so that the rows around it go on as if it weren't there
    says_nothing: bool = False

    @property
    def expression(self) -> str:
        """All of it, up to the end of the text where nothing closes it."""
        closing = self.closing.replace("{tag}", "(?P=tag)")
        if not closing:
            return self.opening
        return rf"(?:{self.opening})(?s:{'' if self.at_once else '.*?'}(?:{closing}|{'.*' if self.at_once else ''}\Z))"


@dataclass(frozen=True, eq=False)
class Scan:
    """How brackets and end words are told from texts and comments. Expressions are in multi-line mode."""

    signs: str  # the characters that brackets and what is skipped begin with, for a class of characters
    # expressions of what holds neither brackets nor words, besides the language's `wholes` but tags
    skipped: tuple[str, ...] = ()
    # what opens a block, and what closes it
    pairs: Mapping[str, str] = field(default_factory=lambda: BRACKETS)
    bracket: str = r"[()\[\]{}]"  # an expression of a bracket
    around: str = ""  # an expression of a word, with a place `{}` for the words of `pairs`
    # an expression of what ends before a word of `led`, with blanks between; elsewhere it is none
    behind: str = ""
    led: frozenset[str] = frozenset()  # see `behind`
    # what closes nothing directly inside of a block that something else closes (the `)` of a pattern in `case`), and
    # this one
    loose: Mapping[str, str] = field(default_factory=dict)
    # headed, heads: words that begin no block in the row of a block's head, and the heads (`while … do`)
    headed: frozenset[str] = frozenset()
    heads: frozenset[str] = frozenset()
    # an expression of what parts branches of a preprocessor, of which each may open the same block
    conditions: str = ""
    optional: frozenset[str] = frozenset()  # the names of tags that may lack their other half

    @lru_cache(maxsize=64)  # noqa: B019  # one entry a language
    def tokens(self, wholes: tuple[AtomicSpan, ...] = ()) -> re.Pattern[str]:
        """One expression for all, in which the group `token` has what isn't skipped. It fits everywhere.

        What says nothing is passed by at once, since an expression is slow where it tries one kind after
        another."""
        inside = rf"[^{self.signs}\n]*"
        passed = [f"[^{self.signs}]+"]
        inner = [rf"\{a}{inside}\{b}" for a, b in self.pairs.items() if a in "([{"]
        passed += [rf"{each[:2]}{inside}(?:(?:{'|'.join(inner)}){inside})*{each[-2:]}" for each in inner]
        signs = [each for each in (self.bracket, self.conditions) if each]
        if self.around:
            words = "|".join(each for each in {*self.pairs, *self.pairs.values()} if each.isalpha())
            signs.append(self.around.replace("{}", f"(?:{words})"))
            passed[0] = rf"[^\w{self.signs}]+|(?!(?:{words})\b|[{self.signs}])\w+"
        texts = [each.expression for each in wholes if not (each.waits or each.opening.startswith("</?"))]
        for number, each in enumerate((*self.skipped, *texts)):
            passed.append(re.sub(r"\(\?P(<|=)tag", rf"(?P\g<1>tag{number}", each))
        parts = "|".join(passed), "|".join(signs)
        return re.compile(rf"(?:{parts[0]}){{0,500}}(?:(?P<token>{parts[1]})|[\s\S]|\Z)", re.MULTILINE)


@dataclass(frozen=True)
class EmbeddedPart:
    """A part of a text without a tree that is in another language: the script of a page."""

    # opening, closing: regular expressions (multi-line mode) of what stands before the part and behind it; the lines
    # between them are its lines
    opening: str
    closing: str
    comment: Comment  # the comment syntax inside


@dataclass(frozen=True, eq=False)
class Template:
    """The tags of a template engine. Expressions are searched for in one tag, from its first to its last character.

    Attributes:
        name: what people call it.
        tags: the forms of a tag.
        suffixes: endings of names, with their dot, that stand behind the name of what the template becomes.
        opens: what a tag looks like that opens a block; its group `name`, if it has one, is what the end repeats.
        goes_on: what a tag looks like that begins another branch of the block around it.
        closes: what a tag looks like that ends a block; its group `name`, if it has one, says which.
        signs: what a file without such an ending has, in multi-line mode, that is such a template nevertheless.
        becomes: the language where nothing else tells.
        indents: what a tag looks like that indents what takes its place; its group says by how many columns.
        anywhere: whether tags may stand in any column, so that their indentation says nothing."""

    name: str
    tags: tuple[AtomicSpan, ...]
    suffixes: frozenset[str] = frozenset()
    opens: str = NEVER
    goes_on: str = NEVER
    closes: str = NEVER
    signs: str = NEVER
    becomes: str = "html"
    indents: str = NEVER
    anywhere: bool = True


@dataclass(frozen=True)
class ListKind:
    """A node whose children can be cut one by one: a block, a class body, a collection literal."""

    # the statement that stands for an emptied list, where the grammar wants one (Python's `pass`)
    filler: str = ""
    # the token that a list begins with which may be empty, though others of its kind have a filler
    unfilled: str = ""
    # whether the first child is kept with the node, where no filler can stand (`case` in `match`)
    keep_first: bool = False
    # kinds of a node right before the list with which its first child is kept (an anchor of YAML: what refers to it
    # wants a list)
    first_behind: frozenset[str] = frozenset()
    # whether the last child is kept with any other, where no separator may stand behind it (JSON)
    keep_last: bool = False
    separators: frozenset[str] = frozenset()  # anonymous tokens that belong to the child before them
    # the kinds or fields of the children that can be cut; empty means every named child
    items: frozenset[str] = frozenset()
    # the kinds or fields of the children that belong to the node and can't be cut
    fixed: frozenset[str] = frozenset()
    # the comment syntax inside this list, where it differs from the language's
    comment: Comment | None = None
    by_row: bool = False  # whether the node is one text whose rows can be cut like children (a docstring)
    # whether the first and last row of such a text hold its quotes and belong to the node
    delimited: bool = True
    least_rows: int = 0  # the fewest rows of such a list
    # kinds of children with which the node is no such list (an interpolation in a text)
    unless: frozenset[str] = frozenset()
    # whether what stands further left than the list's first item belongs to a list around it
    by_column: bool = False
    # kinds that are kept with any statement of a function's body if they end it
    results: frozenset[str] = frozenset()
    # kinds that are kept with the node if they end it, because without them it would say the opposite (the `raise` of
    # an `except`, the `break` of a `case`)
    endings: frozenset[str] = frozenset()
    falls: bool = False  # whether such a node goes on in the one after it unless one of the `endings` ends it
    # kinds of items, or their fields, by which an item has a value of its own; one without has a value by the item
    # before it. Empty where nothing counts.
    valued: frozenset[str] = frozenset()
    counts_late: bool = False  # whether nothing counts before the first item with a value of its own
    # a regular expression of how an item begins that counts on from the last such item; together with `valued`, of
    # one whose value is its place in the list
    counter: str = ""
    # a regular expression of the kind of an item, a space and its text. The other items, and a text's outermost
    # comments, are nothing without the last item that it fits (the script or the template of a component).
    core: str = ""

    @cached_property
    def is_literal(self) -> bool:
        """Whether the children are parts of one expression rather than statements."""
        return self.by_row or "," in self.separators

    @cached_property
    def depends(self) -> bool:
        """Whether it depends on the node, and on what stands before it, what kind of list it is."""
        return bool(self.least_rows or self.unless or self.first_behind or self.unfilled)

    @cached_property
    def counts(self) -> bool:
        """Whether items may have their values by others."""
        return bool(self.valued or self.counter)


@dataclass(frozen=True, eq=False)  # compared and hashed by identity: there is one table a language
class Language:
    """One row of the registry. Kinds are named as in the grammar's `node-types.json`.

    In a query of tree-sitter's, kinds parted by bars stand for a pattern each: `(class|interface name: (_) @name)`.

    Attributes:
        name: the normalized name, as `prune_lines(language=...)` takes and gives it.
        comment: the comment syntax of markers.
        skips_mark: whether what reads the language skips a byte order mark. To what doesn't, a comment behind the mark
            is none, so the line that begins with one stays.
        aliases: other names that callers use.
        suffixes: endings of file names, with their dot.
        filenames: whole file names.
        shebangs: names of interpreters, without version.
        hints: regular expressions (multi-line mode) that each speak for this language in a text without a name; one
            that begins with `\\A` decides alone.
        headings: for a format without a grammar, regular expressions of the lines that say what the lines after them
            belong to, outermost first; a kept line keeps its headings.
        frames: where lines stand under the less indented line before them, a regular expression of how lines begin
            that close or go on with a block; None where indentation says nothing. It serves formats without a grammar,
            and what a grammar can't read.
        blocks: for a format whose lines belong together by more than indentation and headings, a function from the
            lines and which of them are blank, bool [L], to what each needs. It takes the place of both.
        wholes: what can't be parted where there is no tree, the first that fits at a place. What lies within one line
            is named, too, so that a quote in a comment isn't taken for the beginning of a string.
        parts: for a text without a tree, what is in another language.
        goes_on: for a text without a tree, a regular expression of how lines end that go on in the next line.
        goes_back: of how lines begin that go on with the line before.
        heads: for a text without a tree, a regular expression (multi-line mode) of a head whose body is the next line.
        calls: whether what stands in round brackets over a few lines can't be parted.
        brackets: for a text without a tree, the brackets that come in pairs.
        words: for a text without a tree, the words that open and close blocks, as a template's tags do.
        items: of how a line begins that stands under the one before it at its own indentation.
        clauses: of how a definition begins of which several with the same `name`, a group, are told apart by their
            order; each needs the one before.
        tables: of how a row of a table begins, whose first two rows are its head.
        jumps: of a jump and of how a line begins that is its target, both with the group `name`.
        filled: whether no block may be empty in a text without a tree; a block's first line then stays with it.
        scan: what tells brackets and end words, where the language has a grammar that they are checked by.
        template: for a file that becomes another one, the engine of its tags.
        leading: a regular expression of how a line begins that goes on in the statement after it, unless something ends
            it (an annotation, the result of a function of C above its name).
        ending: what ends a block that lacks its end, so that the rest of a damaged file parses.
        stand_ins: plain headers of a class, of a function and of a block, one of which takes the place of a header that
            the grammar can't read, so that the lines inside keep their structure; `$` stands for the name, and an
            empty one for none.
        macros: regular expressions (multi-line mode) whose group is replaced for parsing where the grammar can't read
            a file, with what takes its place; spaces fill up the rest.
        misread: for a first macro that is replaced everywhere, since it may be misread without an error, expressions of
            which a text with it has one. They begin with what they look for, so that the search is quick.
        preprocessed: whether lines of the preprocessor (`#if`) stand between others, wherever they like.
        extends: the language that this one adds to; where the hints of both match, this one is meant.
        grammar: `module:function` of the grammar wheel; empty where the language is pruned line by line.
        lists: the kind, or `parent>kind`, of every node whose children can be cut one by one; those alike stand
            together, parted by bars.
        embedded: a tree-sitter query for text in other languages; the name of a capture is the language, unless an
            attribute `lang` or `type` of the tag before it names another (the script of a page).
        comments: kinds of comment nodes.
        companions: kinds of clauses that stay with their statement (`else`, `except`, decorators).
        prefixes: kinds that belong to the child of the list that follows them (attributes before an item).
        labels: kinds that belong to the child after them where nothing follows their colon (an empty `case`).
        directives: a regular expression of how a statement or a comment begins that says what all after it in its list
            mean (`'use strict'`, `//go:build`).
        sections: of one that says so up to the next one (`private`).
        remarks: of one that says something of the child after it (`//go:embed`, `#pragma omp`).
        documents: of a comment that is an error without the child after it, which doesn't need the comment; in a text
            without a tree, of a line that says something of the next one (an attribute), and stays with it.
        asides: of a comment that belongs to the statement that it stands in (`# type:`).
        padded: kinds whose leading and trailing white space doesn't belong to them (text between tags).
        opaque: kinds that are never cut inside though the grammar gives them children (strings).
        names: a tree-sitter query for scopes, bindings and uses; `captures.py` lists the captures.
        definitions: a tree-sitter query that captures, as `@name`, the names that people find their way by: those of
            functions, classes, types and the like, not of variables. `@function` and `@type` capture a whole definition
            where it isn't the node around its name.
        misreadings: names captured as `@command` that show that the grammar took a text for another one, though it
            found no error. Such a text is pruned line by line.
        builtins: names that are bound without the file's help.
        implicit_name: the name that a node captured as `@implicit` uses without spelling it.
        members_visible: whether functions in a class see its members by their bare names.
        parses: whether the language's own parser takes a text, for languages whose parser comes with Python; its answer
            decides about what the grammar marks as an error.
        joiners: characters that make an item that begins with them go on with the item before it, where no semicolon
            parts the two; such an item keeps its predecessor.
        continuation: the end of a line that goes on in the next line."""

    name: str
    comment: Comment
    skips_mark: bool = True
    aliases: frozenset[str] = frozenset()
    suffixes: frozenset[str] = frozenset()
    filenames: frozenset[str] = frozenset()
    shebangs: frozenset[str] = frozenset()
    hints: tuple[str, ...] = ()
    headings: tuple[str, ...] = ()
    frames: str | None = None
    wholes: tuple[AtomicSpan, ...] = ()
    parts: tuple[EmbeddedPart, ...] = ()
    goes_on: str = ""
    goes_back: str = ""
    heads: str = ""
    calls: bool = False
    brackets: str = "()[]{}"
    words: tuple[Template, ...] = ()
    items: str = r"- "
    clauses: str = ""
    tables: str = ""
    jumps: tuple[str, str] = (NEVER, NEVER)
    filled: bool = False
    scan: Scan | None = None
    template: Template | None = None
    leading: str = ""
    ending: str = ""
    stand_ins: tuple[str, str, str] = ("", "", "")
    macros: tuple[tuple[str, str], ...] = ()
    misread: tuple[str, ...] = ()
    preprocessed: bool = False
    blocks: Callable[[Sequence[str], BoolArray], Frames] | None = None
    extends: str = ""
    grammar: str = ""
    lists: Mapping[str, ListKind] = field(default_factory=dict)
    embedded: str = ""
    comments: frozenset[str] = frozenset({"comment"})
    companions: frozenset[str] = frozenset()
    prefixes: frozenset[str] = frozenset()
    labels: frozenset[str] = frozenset()
    directives: str = ""
    sections: str = ""
    remarks: str = ""
    documents: str = ""
    asides: str = ""
    padded: frozenset[str] = frozenset()
    opaque: frozenset[str] = frozenset()
    names: str = ""
    definitions: str = ""
    misreadings: frozenset[str] = frozenset()
    builtins: frozenset[str] = frozenset()
    implicit_name: str = ""
    members_visible: bool = True
    parses: Callable[[str], bool] | None = None
    joiners: str = ""
    continuation: str = ""

    @property
    def templates(self) -> tuple[Template, ...]:
        """The engine of a template's tags, if there is one."""
        return () if self.template is None else (self.template,)

    @property
    def mends(self) -> bool:
        """Whether the table says what stands for what a grammar can't read."""
        return any(self.stand_ins)

    @property
    def is_code(self) -> bool:
        """Whether a grammar tells its definitions: it is no mere format of data or pages."""
        return bool(self.grammar and self.definitions)


# A comment that says that a case goes on in the next one.
FALLS_THROUGH = r"(?://|/\*)[ \t]*(?i:fall(?:s|ing)?[ -]?thr(?:ough|u)\b|\$fall-through\$)"

# A block comment can be cut between its first and last row; the marker takes the asterisk that such rows begin with.
BLOCK_COMMENT = ListKind(by_row=True, comment=Comment("*"))

braced = partial(
    Language,
    comment=Comment("//"),
    # How lines begin that close a block or go on with it, where there is neither `private:` nor a label.
    frames=r"[{})\]]|(?:else|catch|finally|case|default)\b",
    ending="}",
    asides=FALLS_THROUGH,
)
"""A language of braces."""
