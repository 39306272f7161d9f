"""A reader's tokenizer is read once, and again where its file changes."""

from pathlib import Path

from lamr_model.counters import token_counter
from lamr_model.encoding import PromptEncoder
from lamr_model.spec import bundled_repository, client_files
from tokenizers import Tokenizer, models, pre_tokenizers


def test_a_tokenizer_is_parsed_once_for_each_content(tmp_path: Path) -> None:
    encoder = PromptEncoder.from_repository(bundled_repository())
    file = tmp_path / "tokenizer.json"
    file.write_bytes((client_files(bundled_repository()) / "tokenizer.json").read_bytes())
    first = token_counter(file, encoder)
    assert token_counter(file, encoder) is first
    words = Tokenizer(models.WordLevel({"a": 0}, unk_token="a"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    file.write_text(words.to_str())
    assert token_counter(file, encoder).count_tokens("one, two") == 2
