"""Lines form blocks: functions, methods and paragraphs."""

from __future__ import annotations

from lamr_contract.layout import line_layout

CODE = "import a\n\nclass B:\n    x = 1\n\n    def c(self):\n        y = 2\n\n        return y\n\ndef d(): pass\n"


def test_a_method_is_a_block_and_an_empty_line_inside_doesnt_end_it() -> None:
    layout = line_layout(CODE)
    assert layout.blocks.tolist() == [0, 0, 1, 1, 1, 2, 2, 2, 2, 2, 3]
    assert layout.block_starts.tolist() == [0, 2, 5, 10]
    assert line_layout("").block_starts.shape == (0,)
