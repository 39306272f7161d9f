"""Which messages say nothing about a place in the code: merges, releases, reformatting, renames, chores.

A table of words and the questions that read it.
"""

from __future__ import annotations

import re

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
