"""What `git cat-file --batch` prints, read object by object, also of objects that lie about their length."""

import io

import pytest
from lamr_repositories.revisions import read_object


@pytest.mark.parametrize("most", [None, 3])
def test_an_object_that_is_longer_than_it_says_ends_the_reading(most: int | None) -> None:
    longer = io.BytesIO(b"aa blob 6\n" + b"\0" * 4_000 + b"\nbb blob 2\nx\n\n")
    assert read_object(longer, most) is None
    right = io.BytesIO(b"aa blob 6\nabcdef\nbb blob 2\nx\n\ncc missing\n")
    assert read_object(right) == ("aa", b"abcdef")
    assert read_object(right, 1) == ("bb", None)
    assert read_object(right) == ("cc", None)
    assert read_object(right) is None
