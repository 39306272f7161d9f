"""Code, a vocabulary and tiny models that the tests of training share."""

import json
from pathlib import Path

import torch
from lamr_evaluation.records import Record
from lamr_export.config import LamrConfig
from lamr_export.model import LamrModel
from lamr_model.encoding import PromptEncoder
from lamr_training.backbone import SPECIAL, Vocabulary, code_vocabulary, mini_config, rarity
from lamr_training.loop.examples import ExampleSet, make_examples
from tokenizers import Tokenizer, normalizers, pre_tokenizers
from tokenizers.models import WordPiece
from tokenizers.trainers import WordPieceTrainer

CACHE = '''\
import json
import time
from pathlib import Path

from errors import CacheError

DEFAULT_TIMEOUT = 30


class FileCache:
    """Keeps answers of a slow service in files."""

    def __init__(self, folder, timeout=DEFAULT_TIMEOUT):
        self.folder = Path(folder)
        self.timeout = timeout

    def load(self, key):
        """Read the stored answer of a key from its file."""
        path = self._path(key)
        try:
            text = path.read_text()
        except OSError:
            return None
        else:
            stored = json.loads(text)
        if time.time() - stored["time"] > self.timeout:
            raise CacheError(f"the answer of {key} is older than allowed")
        return stored["value"]

    def save(self, key, value):
        """Write an answer with the time of day it was got."""
        # files are written whole, so that no reader sees half of one
        part = self._path(key).with_suffix(".part")
        part.write_text(json.dumps({"time": time.time(), "value": value}))
        part.replace(self._path(key))

    def _path(self, key):
        name = key.replace("/", "_")
        return self.folder / name


def clear_old_entries(cache, age):
    """Remove the files that nobody has asked for in a long time."""
    count = 0
    for path in cache.folder.iterdir():
        if time.time() - path.stat().st_mtime > age:
            path.unlink()
            count += 1
    return count
'''


def files(count: int = 6) -> list[str]:
    """Files that differ in names, so that they aren't duplicates."""
    return [
        CACHE.replace("FileCache", f"Store{number}").replace("answer", ["reply", "page", "row"][number % 3])
        for number in range(count)
    ]


def questions() -> list[Record]:
    """Questions about a few files, whose docstrings or comments are cut where the question repeats them."""
    texts, records = files(), []
    for line in Path(__file__).with_name("questions.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        part, cut = row.pop("part"), row.pop("cut")
        lines = texts[part].split("\n")
        code = "\n".join(lines[: cut - 1] + lines[cut:] if cut else lines)
        rest = {"path": f"demo/part{part}.py", "project": "demo", "language": "python"}
        records.append(Record.from_row({**row, **rest, "code": code}))
    return records


def vocabulary() -> Vocabulary:
    """A small code-aware tokenizer, from a base that is trained on the spot."""
    base = Tokenizer(WordPiece(unk_token="[UNK]"))
    base.normalizer = normalizers.BertNormalizer()
    base.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    letters = list("abcdefghijklmnopqrstuvwxyz0123456789!\"#$%&'()*+,-./:;<=>?@[]^_`{|}~")
    trainer = WordPieceTrainer(
        vocab_size=300, special_tokens=list(SPECIAL), initial_alphabet=letters, show_progress=False
    )
    base.train_from_iterator(files(), trainer)
    return code_vocabulary(base, files(), 420, 40, least_texts=2)


def tiny_model(words: Vocabulary, seed: int = 0) -> LamrModel:
    """A model of two random layers."""
    torch.manual_seed(seed)
    size = words.tokenizer.get_vocab_size()
    config = mini_config(words.tokenizer, layers=2)
    backbone = {
        "model_type": "bert",
        "vocab_size": size,
        "hidden_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 64,
        "max_position_embeddings": 320,
    }
    model = LamrModel(
        LamrConfig(
            name="tiny",
            version="1",
            backbone=backbone,
            prompt=config.prompt,
            chunking=config.chunking,
            fusion_layers=(1, 1, 2),
            dropout=0.1,
            lexical=config.lexical,
        )
    )
    assert model.lexical is not None
    documents = [words.tokenizer.encode(file, add_special_tokens=False).ids for file in files()]
    model.lexical.set_rarity(rarity(words.tokenizer, documents))
    return model


def encoder(words: Vocabulary, model: LamrModel) -> PromptEncoder:
    """The client's encoder of that model."""
    return PromptEncoder(words.tokenizer, model.config.spec("0" * 64))


def example_set(words: Vocabulary, records: list[Record]) -> ExampleSet:
    """The examples of records for that model."""
    model = tiny_model(words)
    assert model.lexical is not None
    rarities = model.lexical.rarity.numpy()
    return ExampleSet.of(list(make_examples(records, encoder(words, model), rarities)))
