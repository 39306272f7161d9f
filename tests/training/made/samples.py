"""One small file in each of eleven languages, all saying the same.

Each has a documented function with a comment above two statements in it, and a message in a block of its own.
"""

from __future__ import annotations

DOC = "Reads the retry delay from stored settings"
COMMENT = "wait a little longer after every failed attempt"
MESSAGE = "the stored settings hold no delay at all"

_BRACES = """\
{doc}
{head} {{
    {test} {{
        {throw}
    }}

    {mark} wait a little longer after every failed attempt
    {first}
    {second}

    spare(1);
    spare(2);
    spare(3);
    spare(4);
    {last}
}}
"""
_JSDOC = (
    "/**\n * Reads the retry delay from stored settings. More.\n *\n * @param settings what is stored\n */"
)
_SLASHES = "/// Reads the retry delay from stored settings.\n///\n/// # Errors\n/// Without any."


def _braces(**parts: str) -> str:
    return _BRACES.format(**{"mark": "//", **parts})


def _inside(opening: str, text: str) -> str:
    return "\n".join(
        [opening + " {", *(f"    {line}" if line else line for line in text.split("\n")), "}", ""]
    )


_SCRIPT = {
    "doc": _JSDOC,
    "test": "if (!settings.delay)",
    "throw": f'throw new Error("{MESSAGE}");',
    "first": "let delay = settings.delay * attempts;",
    "second": "delay += jitter(attempts);",
    "last": "return delay;",
}
_MANAGED = {
    "doc": _JSDOC,
    "head": "public long readDelay(Settings settings, int attempts)",
    "test": "if (settings.delay == 0)",
    "throw": f'throw new IllegalStateException("{MESSAGE}");',
    "first": "long delay = settings.delay * attempts;",
    "second": "delay += jitter(attempts);",
    "last": "return delay;",
}
_NATIVE = {
    "doc": "/*\n * Reads the retry delay from stored settings.\n */",
    "head": "static long read_delay(struct settings *settings, int attempts)",
    "test": "if (settings->delay == 0)",
    "throw": f'fprintf(stderr, "{MESSAGE}");',
    "first": "long delay = settings->delay * attempts;",
    "second": "delay += jitter(attempts);",
    "last": "return delay;",
}
_SUMMARY = "/// <summary>\n/// Reads the retry delay from stored settings.\n/// </summary>"
SOURCES = {
    "javascript": _braces(**_SCRIPT, head="export function readDelay(settings, attempts)"),
    "typescript": _braces(
        **_SCRIPT, head="export function readDelay(settings: Settings, attempts: number): number"
    ),
    "go": "package retry\n\n"
    + _braces(
        doc="// readDelay reads the retry delay from stored settings. More.",
        head="func readDelay(settings *Settings, attempts int) (int, error)",
        test="if settings.Delay == 0",
        throw=f'return 0, errors.New("{MESSAGE}")',
        first="delay := settings.Delay * attempts",
        second="delay += jitter(attempts)",
        last="return delay, nil",
    ),
    "rust": _braces(
        doc=_SLASHES + "\n#[inline]",
        head="pub fn read_delay(settings: &Settings, attempts: u64) -> u64",
        test="if settings.delay == 0",
        throw=f'panic!("{MESSAGE}");',
        first="let mut delay = settings.delay * attempts;",
        second="delay += jitter(attempts);",
        last="delay",
    ),
    "java": _inside("class Retry", _braces(**_MANAGED)),
    "csharp": _inside("class Retry", _braces(**{**_MANAGED, "doc": _SUMMARY})),
    "c": _braces(**_NATIVE),
    "cpp": _braces(
        **{
            **_NATIVE,
            "doc": "/// \\brief Reads the retry delay from stored settings.\ntemplate <class Settings>",
            "head": "long Retry::read_delay(Settings& settings, int attempts)",
            "test": "if (settings.delay == 0)",
            "throw": f'throw std::runtime_error("{MESSAGE}");',
        }
    ),
    "ruby": f"""\
module Retry
  # Reads the retry delay from stored settings.
  #
  # @param settings [Hash] what is stored
  def self.read_delay(settings, attempts)
    if settings.delay.nil?
      raise ArgumentError, "{MESSAGE}"
    end

    # {COMMENT}
    delay = settings.delay * attempts
    delay += jitter(attempts)

    spare(1)
    spare(2)
    spare(3)
    spare(4)
    delay
  end
end
""",
    "python": f"""\
class Retry:
    @staticmethod
    def read_delay(settings, attempts):
        '''
        Reads the retry delay from stored settings.

        :param settings: what is stored
        '''
        if not settings.delay:
            raise ValueError("{MESSAGE}")

        # {COMMENT}
        delay = settings.delay * attempts
        delay += jitter(attempts)

        spare(1)
        spare(2)
        spare(3)
        spare(4)
        return delay
""",
    "php": "<?php\n\n"
    + _inside(
        "class Retry",
        _braces(
            doc=_JSDOC,
            head="public function readDelay(Settings $settings, int $attempts): int",
            test="if (!$settings->delay)",
            throw=f'throw new RuntimeException("{MESSAGE}");',
            first="$delay = $settings->delay * $attempts;",
            second="$delay += $this->jitter($attempts);",
            last="return $delay;",
        ),
    ),
}
"""The text of each language's file, by the language's name."""
