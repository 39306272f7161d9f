"""Bytes of any encoding become text and the same bytes again; what is no text stays binary."""

from __future__ import annotations

import random
import subprocess
import sys
import zlib

import pytest
from lamr_postprocess import Encoding, decode, encodings, prune_lines
from lamr_postprocess.encodings import UTF_8

COMMENTS = {
    "cp1252": (
        "fünf Straßen größer",
        "© 2003 Jörg",
        "25°C ± 2",
        "“quoted” \N{EN DASH} it\u2019s",
        "price in €",
        "déjà vu",
        "Ä",
        "à",
    ),
    "cp932": ("リトライの上限を設定する", "初期化", "文字列を表示する。", "// 処理"),
    "euc_jp": ("リトライの上限を設定する", "ファイルを開く"),
    "gb18030": ("设置重试上限", "判断是否enabled", "%d年%d月%d日 某人说", "作者\uff1a张三"),
    "big5": ("設定重試上限", "開啟檔案", "顯示字串。"),
    "cp949": ("재시도 횟수 제한 설정", "문자열을 출력한다"),
    "cp1251": ("установить лимит повторов", "Ошибка чтения файла"),
    "koi8_u": ("если не найдено, то нужно повторить",),
    "iso8859_2": ("Zażółć gęślą jaźń, błąd odczytu pliku, żądanie wysłano ponownie",),
    "cp1253": ("μέγιστος αριθμός προσπαθειών",),
}


@pytest.mark.parametrize(("page", "comment"), [(page, each) for page in COMMENTS for each in COMMENTS[page]])
@pytest.mark.parametrize("form", ["/* %s */\r\nint limit = 3;\r\n", "# %s\nlimit = 3\n"])
def test_a_comment_of_a_code_page_is_read_and_given_back(page: str, comment: str, form: str) -> None:
    text = form % comment
    found = decode(text.encode(page))
    assert found is not None
    assert found.text == text
    assert found.encoding.encode(found.text) == text.encode(page)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
@pytest.mark.parametrize(
    "text", ["int limit = 3;\r\n// größer\r\n", "ABC\b\n", "// 设置重试上限\uff0c然后再试一次\n" * 3]
)
def test_wide_characters_are_read_with_and_without_a_mark(encoding: str, text: str) -> None:
    data = text.encode(encoding)
    found = decode(data)
    assert found is not None
    assert (found.text, found.encoding.encode(found.text)) == (text, data)
    assert bool(found.encoding.mark) == (encoding in ("utf-16", "utf-32"))
    cut = found.encoding.encode(text.splitlines(keepends=True)[-1])
    assert cut.startswith(found.encoding.mark), "what is left of a file says as well how it is encoded"


def test_utf_8_stays_as_it_is_and_bytes_of_another_encoding_among_it_are_given_back() -> None:
    for data in (b"", b"x = 1\r\n\f\n", "\ufeffx = 'é漢\U0001f600\u2028'\r".encode()):
        found = decode(data)
        assert found is not None
        assert (found.text.encode(), found.encoding) == (data, UTF_8)
    data = "// naïve café, déjà vu\n".encode() + b"// Gr\xf6\xdfe\n"
    found = decode(data)
    assert found is not None
    assert found.text.startswith("// naïve café, déjà vu\n")
    assert found.encoding == Encoding(strays=True)
    assert found.encoding.encode(found.text) == data
    assert found.text.encode("utf-8"), "a text that others can write, too"


@pytest.mark.parametrize(
    ("head", "page"),
    [
        (b"# -*- coding: koi8-r -*-\n", "koi8-r"),
        (b"#!/usr/bin/python\n# vim: set fileencoding=cp1255 :\n", "cp1255"),
        (b"menutrans x y\nscriptencoding cp1254\n", "cp1254"),
        (b'<?xml version="1.0" encoding="windows-1257"?>\n', "cp1257"),
        (b'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=ISO-8859-8\\n"\n', "iso8859-8"),
    ],
)
def test_what_a_file_says_of_itself_counts(head: bytes, page: str) -> None:
    found = decode(head + bytes([0xE5, 0xE6, 0x20, 0xF0]))
    assert found is not None
    assert found.encoding.name == page


@pytest.mark.parametrize(
    "said", ["utf-8", "rot13", "utf-7", "idna", "unicode_escape", "nothing", "iso-2022-jp", "a" * 99]
)
def test_what_a_file_says_wrongly_does_not(said: str) -> None:
    data = f"# coding: {said}\n# Gr".encode() + b"\xf6\xdfe \\u0041\n"
    found = decode(data)
    assert found is not None
    assert (found.encoding.name, found.encoding.encode(found.text)) == ("cp1252", data)


def test_binary_files_stay_binary() -> None:
    noise = random.Random(0)
    binaries = [
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
        b"\x7fELF\x02\x01\x01\0",
        b"x = 1\n# a NUL \0 in a comment\n",
        b"x = 1\n\0\n",
        b"a\0b\0cdefghij\n",
        b"\xff\xfe" + bytes(range(256)),
        b"\0\0\0\0\0\0",
        bytes([1, 0, 2, 0, 3, 0]) * 50,
        zlib.compress(b"".join(noise.randbytes(9) for _ in range(99))).replace(b"\0", b"\1"),
        *(bytes(noise.choices(range(1, 256), k=noise.randrange(200, 3000))) for _ in range(100)),
        *(noise.randbytes(noise.randrange(200, 3000)) for _ in range(100)),
    ]
    assert [data[:20] for data in binaries if decode(data) is not None] == []


def test_a_guess_costs_the_same_however_large_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    guess = encodings._of_single_bytes
    monkeypatch.setattr(
        encodings, "_of_single_bytes", lambda sample: seen.append(len(sample)) or guess(sample)
    )
    for lines in (10, 100_000):
        assert decode("x = 1  # größer\n".encode("latin-1") * lines)
    assert max(seen) < 3 * encodings._SAMPLE_BYTES


def test_only_who_meets_such_a_file_imports_the_library() -> None:
    code = "import lamr_client, sys\nfrom lamr_postprocess import decode\ndecode('é\\n'.encode())\n"
    code += "decode('é\\n'.encode('utf-16'))\nprint('charset_normalizer' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_a_line_with_a_mark_that_its_reader_does_not_skip_stays() -> None:
    code = "\ufeff#!/bin/sh\r\na\r\n\r\nif b; then\r\n    c\r\nfi\r\n"
    for path, kept in (("a.sh", (1, 4, 5, 6)), ("a.bat", (1, 5)), ("a.rb", (4, 5))):
        pruned = prune_lines(code, [0, 0, 0, 0, 1, 0], path=path, min_cut=0)
        assert set(kept) <= set(pruned.kept_lines)
        assert (1 in pruned.kept_lines) == (path != "a.rb")
        assert pruned.text.startswith("\ufeff")


def test_any_bytes_that_are_text_come_back_though_they_fit_no_page() -> None:
    noise = random.Random(1)
    for _ in range(300):
        data = bytes(noise.choices([*range(32, 127), 9, 10, 13, *range(128, 256)], k=noise.randrange(1, 80)))
        found = decode(data)
        assert found is None or found.encoding.encode(found.text) == data
    data = bytes(sorted({*range(0x80, 0x100)} - {0x81, 0x8D, 0x8F, 0x90, 0x9D})) + b"\n"
    found = decode(data)
    assert found is not None
    assert found.encoding.encode(found.text) == data
