"""What callers send: expressions and model files."""

import io
import shutil
import time
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
from lamr_client import LamrError, bundled_repository
from lamr_postprocess.patterns import LineSearch, check_expressions

from tests.attack.case import Case
from tests.attack.place import Place

CODE = "".join(f"def f{i}(a):\n    return a + {i}\n\n" for i in range(12))


EXPRESSIONS: Mapping[str, str] = {
    "a count within counts": "(?:(?:a{1000}){1000}){1000}",
    "a set of a million": "[" + "".join(chr(0x100 + n % 50000) for n in range(1_000_000)) + "]",
    "two hundred thousand alternatives": "a|" * 200_000,
    "five thousand brackets": "(" * 5000,
    "recursion": "(?R)",
    "case of every letter": "(?i)" + "\u017f\u212a\u00e9" * 2000,
}


def _search(pattern: str) -> Callable[[Place], str]:
    def attempt(_place: Place) -> str:
        begin = time.process_time()
        try:
            check_expressions([pattern], "keep")
            list(LineSearch(pattern, "keep").found(["ab" * 1500, "a" * 3000 + "!", "é" * 3000] * 5))
            said = "searched"
        except LamrError:
            said = "refused"
        return f"{said}; {'soon' if time.process_time() - begin < 5 else 'late'}"

    return attempt


def _model(file: str, change: Callable[[Path], object]) -> Callable[[Place], str]:
    def attempt(place: Place) -> str:
        copy = place.folder / "model"
        shutil.copytree(bundled_repository(), copy)
        change(next(copy.rglob(file)))
        (place.folder / "a.py").write_text(CODE)
        ran = place.lamr("prune", "a.py", "-q", "what does f7 return", "--model", copy, "--no-degrade")
        return f"{ran.code}; {b'Traceback (most recent' in ran.err}"

    return attempt


def _bomb(path: Path) -> None:
    """An archive of some MB that unpacks to a GiB and a half of zeros, in arrays that are what they say."""
    names = np.load(path).files
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name in names[:3]:
            head = io.BytesIO()
            shape = {"descr": "<f4", "fortran_order": False, "shape": (1 << 27,)}
            np.lib.format.write_array_header_1_0(head, shape)
            with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                file.write(head.getvalue())
                for _ in range(32):
                    file.write(bytes(1 << 24))


CASES: tuple[Case, ...] = (
    *(
        Case("expressions", name, _search(pattern), r"(searched|refused); soon", quick=True)
        for name, pattern in EXPRESSIONS.items()
    ),
    Case("model", "an archive that unpacks to 1.5 GiB", _model("decoder.npz", _bomb), "3; False", 30),
)
