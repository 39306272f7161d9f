"""Ways in which a good file comes to be a bad one, or another spelling of itself: one row of `DAMAGES` a way."""

import random
import re
from collections.abc import Callable
from dataclasses import dataclass

Change = Callable[[bytes, random.Random], bytes]


@dataclass(frozen=True)
class Damage:
    """What changes a file, and whether its language's parser still reads it afterwards if it did before."""

    change: Change
    harmless: bool = False


def _conflict(data: bytes, chance: random.Random) -> bytes:
    lines = data.splitlines(keepends=True)
    at = chance.randrange(len(lines))
    end = b"\r\n" if lines[at].endswith(b"\r\n") else b"\n"
    line = lines[at].rstrip(b"\r\n") + end
    sides = [b"<<<<<<< HEAD" + end, line, b"=======" + end, line, b">>>>>>> feature" + end]
    return b"".join([*lines[:at], *sides, *lines[at + 1 :]])


def _macro(data: bytes, chance: random.Random) -> bytes:
    """A word in capitals before a name, as export macros stand there, or on a line of its own."""
    places = [match.end() for match in re.finditer(rb"\b(?:class|struct|enum|def|function|fn|func) +", data)]
    if places:
        at = chance.choice(places)
        return data[:at] + b"MODULE_EXPORT " + data[at:]
    at = data.find(b"\n", chance.randrange(len(data))) + 1
    return data[:at] + b"MODULE_BEGIN(one, 2)\n" + data[at:]


def _brace(data: bytes, chance: random.Random) -> bytes:
    places = [match.start() for match in re.finditer(rb"[{}()\[\]<>]", data)]
    at = chance.choice(places) if places else len(data) // 2
    return data[:at] + data[at + 1 :]


def _ended(data: bytes, end: bytes) -> bytes:
    return re.sub(rb"\r\n|\r|\n", end, data)


def _encoded(name: str, words: str) -> Change:
    """The text with a comment's worth of words of another script, in an old encoding; unchanged where it has others."""

    def change(data: bytes, _: random.Random) -> bytes:
        try:
            text = data.decode("utf-8")
            line = next(
                (each for each in text.splitlines() if re.match(r"\s*(#|//|--|;|%|\*) \w", each)), None
            )
            return (text.replace(line, f"{line} {words}", 1) if line else text).encode(name)
        except UnicodeError:
            return data

    return change


DAMAGES: dict[str, Damage] = {
    "cut in half": Damage(lambda data, chance: data[: chance.randrange(len(data) // 3, len(data))]),
    "conflict": Damage(_conflict),
    "macro": Damage(_macro),
    "a bracket less": Damage(_brace),
    "half a character": Damage(lambda data, _: data + "…".encode()[:2]),
    "CRLF": Damage(lambda data, _: _ended(data, b"\r\n"), harmless=True),
    "CR": Damage(lambda data, _: _ended(data, b"\r")),
    "BOM": Damage(lambda data, _: b"\xef\xbb\xbf" + data, harmless=True),
    "no last line end": Damage(lambda data, _: data.rstrip(b"\r\n"), harmless=True),
    "Windows-1252": Damage(_encoded("cp1252", "naïve “façade”, déjà vu…")),
    "Latin-1": Damage(_encoded("latin-1", "Größe für Öffnung, año")),
    "Shift-JIS": Damage(_encoded("shift_jis", "接続の再試行回数を確認する")),
    "GB 18030": Damage(_encoded("gb18030", "检查连接的重试次数是否超过上限")),
    "UTF-16": Damage(_encoded("utf-16", "größer")),
    "UTF-16 without a mark": Damage(_encoded("utf-16-le", "größer")),
}


def damaged(data: bytes, chance: random.Random) -> tuple[bytes, str]:
    """The bytes after a damage that chance chooses, and its name; empty where it changed nothing."""
    name = chance.choice(list(DAMAGES))
    changed = DAMAGES[name].change(data, chance) if len(data) > 8 else data
    return (changed, name) if changed != data else (data, "")
