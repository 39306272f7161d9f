"""What a commit's message says, without what is there for machines and trackers; and which say nothing about a place in
the code: merges, releases, reformatting, renames, chores.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from lamr_training.records.raised import count_words

_TYPE_WORDS = """
    feat fix fixes refactor perf chore docs doc test tests style build ci bug revert feature bugfix fixed deps release
    types lint typo dev internal core
    """
_SILENT_TYPE_WORDS = "docs doc style build ci revert deps release lint typo"
_TYPES, _SILENT_TYPES = (frozenset(text.split()) for text in (_TYPE_WORDS, _SILENT_TYPE_WORDS))
_SILENT = re.compile(
    r"^(?:merge|revert|rollback|back ?out|bump|release|prepare|version|v?\d+[.\d]*\b|wip|fixup!|squash!|amend!|"
    r"initial|import|sync|upgrade|update (?:dep|to|version|change|readme|copyright|licen|submodule|auth|docs?\b|"
    r"translation|vendor|bundl|test fixtures?|snapshot|baseline)|changelog|news|tag|cut|backport|cherry|"
    r"(?:auto|re)-?(?:generate|format)|generate|regen|format|reformat|prettier|lint|black\b|gofmt|rustfmt|"
    r"clang-?format|clang-?tidy|isort|rename|moved? (?:file|to|from|into|test)|whitespace|indent|style|tidy|"
    r"some (?:refine|fix|change|improve|more|minor|test|clean|tweak|work|small)|(?:improve[ds]?|better) (?:code|tests?|"
    r"local|variable|param|internal|name|naming)\b|refactor(?:ed|ing|s)?(?: code| tests?)?$|sort members|use final\b|"
    r"(?:add|adds|added|write|extend|improve|fix|more|new) (?:\w+ )?(?:unit |more |some |missing |failing )*(?:tests?|"
    r"specs?|test cases?|coverage)$|simplif(?:y|ied|ication)s?$|(?:sonar|findbugs|spotbugs|checkstyle|pmd|codacy)\b|"
    r"fix(?:e[sd])? (?:a |an |some |the )?(?:bugs?|issues?|problems?)(?: reported.*)?$|no need to|don'?t need|"
    r"nits?\b|polish|cleanup\b|clean(?:ed|ing)? ?up|misc|minor|small|tiny|various|more|another|oops|further|"
    r"review|address(?:ed)? (?:review|comment|feedback|pr)|apply suggestion|suggestions?|feedback|"
    r"typos?|spelling|grammar|comments?|docs?\b|document|documentation|readme|javadocs?|apidocs?|"
    r"copyright|licen[cs]e|happy new year|appease|silence|pacify|fix(?:ed|es)? (?:the )?(?:build|ci|lint|tests?$|"
    r"typos?|warnings?$|style|format|indent|doc|comment|spelling|grammar|whitespace|code style|cs\b|pep ?8|rubocop|"
    r"phpcs|clippy|warnings? in|(?:compiler|build) warning|checkstyle|offens|coding standard|travis|appveyor|"
    r"compil|formatting|flake8|mypy|imports?$))",
    re.I,
)
_SILENT_ANYWHERE = re.compile(
    r"\b(?:typos?|misspell\w*|spelling|whitespaces?|code ?style|coding style|coding standards?|changelog|"
    r"docstrings?|doc ?comments?|javadocs?|readme|copyright|reformat\w*|formatting|clang-?format|prettier|rubocop|"
    r"rename[ds]?|version bump|bump\w*|dependabot|renovate|renaming|pep-?8|cosmetics?|grammar|"
    r"spdx|licen[cs]es?|file headers?|translations?|trailing spaces?|tabs? to spaces?|sort(?:ed)? imports?|"
    r"unused imports?|lint(?:er|ing)?|vendor(?:ed)?|auto-?generated|submodules?|documentation|back-?ports?|"
    r"stack ?overflow\.com|suggested changes|warnings? as errors?|type hints?|clippy|sonar\w*|findbugs|checkstyle)\b",
    re.I,
)
_BULLET = re.compile(r"^\s*[-*+]\s+")
# Bullets that squashed commits leave behind.
_CHORE = re.compile(
    r"(?:add|adds|added|fix|fixes|fixed|update|updates|updated|more|improve|clean ?up|remove|tweak|skip)?\s*"
    r"(?:the |a |an |some |unit |more |failing |missing |news |change)*"
    r"(?:tests?|specs?|test cases?|changenotes?|notes?|\S+\.(?:\w{1,4}))\W*$|"
    r"(?:sty|tst|doc|ci|mnt|maint)\b|address|wip|merge|fixup|apply|nit|simplify$|refactor$|linting|flake|pep",
    re.I,
)


def is_conventional(kind: str) -> bool:
    """Whether a word before a colon is a type of conventional commits."""
    return kind.lower() in _TYPES


def is_silent(subject: str, kind: str = "") -> bool:
    """Whether a subject, with its conventional type, leads to no line."""
    typed = kind.lower() in _SILENT_TYPES
    return bool(typed or _SILENT.match(subject) or _SILENT_ANYWHERE.search(subject))


def is_chore(line: str) -> bool:
    """Whether a line is one of the bullets that squashed commits leave behind, such as "* fix tests"."""
    text, bullets = _BULLET.subn("", line)
    return bool(bullets and (_CHORE.match(text) or _SILENT.match(text)))


LEAST_WORDS = 4
MOST_WORDS = 400
"""Of a body; the rest is left out."""

_TRAILER = re.compile(
    r"^\s*(?:[A-Z][\w-]*-(?:by|to|from|id|url|on|date|for|branch|sha1?)|change-id|cc|bug|bugs|fixes|fix|close[sd]?|"
    r"resolve[sd]?|refs?|references|see(?: also)?|issue|issues|related(?: to)?|relates(?: to)?|part of|pr|pull request|"
    r"ticket|jira|git-svn-id|piperorigin-revid|origin|reviewers?|reviewed|approved|tested|test plan|differential"
    r"(?: revision)?|release[- ]notes?|changelog|backport(?:ed)?|from-sha|submitted|obtained from|mfc after|sponsored|"
    r"x-\S+|task|tags|subscribers|summary|copybara\S*|fbshipit-source-id|startblock|cla)\s*[:#=].*$",
    re.I,
)
_NOISE_LINE = re.compile(
    r"^\s*(?:\(cherry[- ]picked from .*|cherry[- ]pick(?:ed)? .*|this reverts commit.*|conflicts?:.*|merge .*|"
    r"[-*] \[[ xX]\].*|\*{3,}|[-=_~#]{3,}|<!--.*|.*-->|```.*|---+|git-svn.*|\[?skip ci\]?|on-behalf-of.*|"
    r"(?:fix(?:e[sd])?|close[sd]?|resolve[sd]?|refs?|see|related to|part of|ref|issue|pr)?:?\s*(?:\S+/\S+)?(?:#|gh-)\d+"
    r"[\s,.;)]*(?:and|,)?.*)$",
    re.I,
)
# Forms that projects ask contributors to fill in; after a checklist nothing follows that describes the change.
_FORM_LINE = re.compile(
    r"^\W*(?:what do these changes do|are there changes in behaviou?r|is it a substantial burden|related issue|"
    r"what type of|what is the (?:current|new) behaviou?r|does this pr|this is a backport|description|"
    r"motivation(?: and context)?|how (?:has this been|was this) tested|screenshots?|types? of changes?|"
    r"proposed changes|additional (?:info|context)|"
    r"what kind of change|no breaking changes?|breaking changes?|n/?a|none|no|yes|bugfix|---.*)\W*(?:for the user\W*|"
    r"for the maintainers.*)?$",
    re.I,
)
_FORM_END = re.compile(
    r"^\W*(?:pr |pull request )?(?:check ?list|reviewer notes|legal|contributor agreement)\W*$", re.I
)
_COMMENTED = re.compile(r"<!--.*?(?:-->|\Z)", re.S)
_LABELS = re.compile(r"^(?:\[[^\]]*(?:backport|\bPR\b|\d)[^\]]*\]\s*)+", re.I)
_LINK = re.compile(r"\(?<?\bhttps?://\S+>?\)?|\bwww\.\S+")
_REFERENCE = re.compile(
    r"[\[(]?\s*(?:\b(?:fix(?:e[sd])?|close[sd]?|resolve[sd]?|see|refs?|issue|issues|pr|bug|ticket|gh|via|re|from)\b"
    r"[: -]*(?:issue|bug|pr|ticket)?\s*)?(?:[\w.-]+/[\w.-]+|\bGH|\bPR)?(?:#|(?<=GH)-)\d+\b"
    r"(?:\s*(?:,|and|&)\s*#\d+)*\s*[\])]?",
    re.I,
)
_TICKET = re.compile(r"^\s*\[?[A-Z][A-Z0-9]{1,12}-\d+\]?\s*[:\-.]*\s*|\s*\(?\[?\b[A-Z]{2,12}-\d{2,}\b\]?\)?")
_HASH = re.compile(r"\b(?=[0-9a-f]*[0-9])(?=[0-9a-f]*[a-f])[0-9a-f]{7,40}\b")
_MACHINE = re.compile(
    r"\[(?:ci skip|skip ci|skip[- ]\w+|\w+ skip|svn\S*|ci|wip|automated)\]|:[a-z_]{3,}:", re.I
)
_MENTION = re.compile(r"(?<![\w.])@[A-Za-z][\w-]+|<[\w.+-]+@[\w.-]+>")
_CONVENTIONAL = re.compile(r"^(\w{2,10})(?:\(([^)]{1,40})\))?!?:\s+(?=\S)")
_WORD = re.compile(r"[A-Za-z][A-Za-z']+")
_MARKUP_HEADING = re.compile(r"^\s*#{1,6}\s+")


@dataclass(frozen=True)
class Message:
    """A cleaned message. `prefix` is the conventional one (`fix(parser): `) that the subject came with, or empty."""

    subject: str
    body: str
    prefix: str = ""

    @property
    def words(self) -> int:
        """Of subject and body."""
        return count_words(self.subject) + count_words(self.body)

    @property
    def template(self) -> str:
        """What messages of one mould share: the first words, in lower case."""
        return " ".join(_WORD.findall(self.subject.lower())[:3])


def clean(text: str) -> Message | None:
    """A message without trailers, references and hashes; None when it can't lead to lines of code."""
    first, _, rest = _COMMENTED.sub("", text).strip().partition("\n")
    first = _LABELS.sub("", first)
    found = _CONVENTIONAL.match(first)
    if found and not is_conventional(found[1]):
        found = None
    subject = _without_references(first[found.end() :] if found else first)
    if is_silent(subject, found[1] if found else ""):
        return None
    body = _body(rest)
    message = Message(subject.rstrip(" ."), body, found[0] if found else "")
    if count_words(subject) < 2 or message.words < LEAST_WORDS or not _english(subject + body):
        return None
    return message


def _body(text: str) -> str:
    kept: list[str] = []
    words = 0
    for line in text.splitlines():
        if _FORM_END.match(line):
            break
        if any(form.match(line) for form in (_TRAILER, _NOISE_LINE, _FORM_LINE)) or is_chore(line):
            continue
        plain = _without_references(_MARKUP_HEADING.sub("", line)) if line.strip() else ""
        words += len(plain.split())
        if words > MOST_WORDS:
            break
        if plain or (kept and kept[-1]):
            kept.append(plain)
    return "\n".join(kept).strip()


def _without_references(line: str) -> str:
    indent = line[: len(line) - len(line.lstrip())]
    text = _LINK.sub("", line)
    text = _MACHINE.sub("", _MENTION.sub("", text))
    text = _HASH.sub("", _TICKET.sub(" ", _REFERENCE.sub(" ", text)))
    text = re.sub(r"\(\s*[,;]?\s*\)|\[\s*\]", "", text)
    text = re.sub(r"\s+([,;:)]|\.(?=\s|$))", r"\1", re.sub(r"[ \t]{2,}", " ", text))
    return indent[:8] + text.strip(" \t-:,;").strip()


def _english(text: str) -> bool:
    letters = [char for char in text if char.isalpha()]
    return bool(letters) and sum(char.isascii() for char in letters) >= 0.95 * len(letters)
