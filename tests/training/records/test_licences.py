"""One rule says which licences allow training, whatever words a package has for them."""

import pytest
from lamr_training.records.manifest import permissive, spdx


def test_of_several_licences_one_is_enough_or_all_are_needed() -> None:
    assert permissive("Apache-2.0 OR GPL-2.0-or-later")
    assert permissive("MIT AND BSD-3-Clause")
    assert not permissive("MIT AND GPL-2.0-or-later")
    assert not permissive("")


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("MIT License", "MIT"),
        ("The MIT License", "MIT"),
        ("BSD License", "BSD"),
        ("BSD 3-Clause License", "BSD-3-Clause"),
        ("Apache Software License", "Apache-2.0"),
        ("Apache License, Version 2.0", "Apache-2.0"),
        ("ISC License (ISCL)", "ISC"),
        ("Python Software Foundation License", "PSF-2.0"),
        ("GNU General Public License v3 (GPLv3)", "GNU General Public License v3 (GPLv3)"),
    ],
)
def test_words_of_packages_become_names(words: str, name: str) -> None:
    assert spdx(words) == name
    assert permissive(spdx(words)) == ("GNU" not in words)
