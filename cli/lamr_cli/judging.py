"""What `lamr judge` puts together: the reader, the pruners and the budget that its options name; and one judgement."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from lamr_contract.names import TOKENIZER_FILE

from lamr_cli.arguments import credentials
from lamr_cli.printing import bar, say
from lamr_cli.scorers import embedder, scorer_of

if TYPE_CHECKING:
    from lamr_client import Pruner as LamrPruner
    from lamr_contract.counters import Counter
    from lamr_contract.perplexity.causal_scorer import CausalScorer
    from lamr_evaluation.judge import Budget, Cost, Item, Judgement, JudgeReport, Prices, Reader
    from lamr_evaluation.judge.keeping import Pruner
    from lamr_training.model.cosine import Embedder

_UNASKED = ("lamr-auto",)
"""Pruners that are left out unless they are named: within an item's few seconds, auto is full."""


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What the command line asks for; its options explain each."""

    reader: str | None
    name: str | None
    likelihoods: str | None
    bfloat16: bool
    perplexity: str | None
    encoder: Path | None
    swe_pruner: Path | None
    opinion: str | None
    tokenizer: Path | None
    at_once: int
    thinking: int
    by: str | None
    server: str | None
    repository: Path | None
    pruners: tuple[str, ...]
    shares: tuple[float, ...]
    budget: Budget
    prices: Prices
    cache: Path | None
    dry_run: bool


def judged(found: list[Item], asked: Asked) -> tuple[JudgeReport | None, Judgement]:
    """Make what judges, say what it will cost, and let it judge."""
    from lamr_contract.cache import Cache
    from lamr_contract.private_files import cache_folder
    from lamr_evaluation.judge import Bench, JudgeReport, Ledger, figures_of, judge
    from lamr_evaluation.judge.figures import forewarning
    from lamr_evaluation.judge.readers import Opinion
    from lamr_evaluation.judge.report import gold_table

    for task in sorted({item.task for item in found}):
        say(f"{task}: {forewarning(sum(item.task == task for item in found))}", err=True)

    def on_foreseen(cost: Cost, known: int) -> None:
        say(f"asking costs at most {cost}; {known:,} answers are kept from before", err=True)

    with contextlib.ExitStack() as stack:
        readers = _Readers(asked, stack)
        progress = stack.enter_context(bar())
        bench = Bench(
            readers.reader,
            readers.pruners(),
            asked.shares,
            readers.count,
            stack.enter_context(
                Cache(asked.cache or cache_folder() / "judge.sqlite", lambda note: say(note, err=True))
            ),
            Ledger(asked.budget),
            asked.prices,
            Opinion(readers.endpoint(asked.opinion)) if asked.opinion else None,
            on_foreseen,
            progress,
        )
        try:
            judgement = judge(found, bench, dry_run=asked.dry_run)
        except KeyboardInterrupt:
            say("what was answered is kept; the same command goes on from there", err=True)
            raise
        if asked.dry_run:
            say(gold_table(judgement))
            return None, judgement
        report = JudgeReport(
            bench.reader.name,
            figures_of(judgement, asked.by),
            judgement.foreseen,
            judgement.spent,
            judgement.known,
            judgement.cut,
            judgement.problems,
        )
    return report, judgement


class _Readers:
    """Makes the reader and the pruners that the command line names; the stack closes them."""

    def __init__(self, asked: Asked, stack: contextlib.ExitStack) -> None:
        self._asked, self._stack = asked, stack
        self.tokenizer = str(asked.tokenizer) if asked.tokenizer else None
        self.scorer: CausalScorer | None = None
        if asked.likelihoods is not None:
            from lamr_evaluation.judge.readers import LikelihoodReader

            self.scorer = stack.enter_context(scorer_of(asked.likelihoods, bfloat16=asked.bfloat16))
            self.reader: Reader = LikelihoodReader(self.scorer, Path(asked.likelihoods).name)
            self.tokenizer = self.tokenizer or self._own_tokenizer(self.scorer)
        else:
            if asked.name is None:
                raise typer.BadParameter("--reader needs --model, the model's name at the endpoint")
            self.reader = self.endpoint(asked.name)
        self.count = counter(self.tokenizer)

    def endpoint(self, name: str) -> Reader:
        """Return a model of the endpoint as a reader."""
        from lamr_evaluation.judge.endpoint_reader import KEY_FROM, EndpointReader

        if self._asked.reader is None:
            raise typer.BadParameter("--opinion needs --reader, the endpoint that has the model")
        made = EndpointReader(
            self._asked.reader,
            name,
            api_key=os.environ.get(KEY_FROM, ""),
            at_once=self._asked.at_once,
            thinking=self._asked.thinking,
        )
        self._stack.callback(made.close)
        return made

    def pruners(self) -> dict[str, Pruner]:
        """Return the pruners by name: those that are named, or all that can prune."""
        from lamr_evaluation.judge import PRUNERS, Setup

        asked = self._asked
        wanted = asked.pruners or tuple(name for name in PRUNERS if name not in _UNASKED)
        for name in wanted:
            if name not in PRUNERS:
                raise typer.BadParameter(f"--pruner must be one of {', '.join(PRUNERS)}, not {name!r}")
        setup = Setup(
            self.count,
            self._lamr(asked.repository, asked.server),
            self.tokenizer,
            embed=self._embed("rag" in asked.pruners) if "rag" in wanted else None,
            embed_key=None if asked.encoder else "MiniLM-L6",
            scorer=self._stack.enter_context(scorer_of(asked.perplexity, bfloat16=asked.bfloat16))
            if asked.perplexity
            else self.scorer,
            swe_pruner=self._lamr(asked.swe_pruner, None) if asked.swe_pruner else None,
        )
        made = {name: PRUNERS[name](setup) for name in wanted}
        missing = [name for name, each in made.items() if each is None and name in asked.pruners]
        if missing:
            raise typer.BadParameter(
                f"{', '.join(missing)}: give longcodezip a model by --perplexity, swe-pruner weights by --swe-pruner"
            )
        return {name: each for name, each in made.items() if each is not None}

    def _lamr(self, repository: Path | None, server: str | None) -> LamrPruner:
        from lamr_client import Pruner

        return self._stack.enter_context(
            Pruner(server, model=repository, timeout=600.0, **credentials(server))
        )

    def _embed(self, named: bool) -> Embedder | None:
        """Return the sentence encoder; None where its extra isn't installed and nobody asked for it by name."""
        if not named and self._asked.encoder is None and importlib.util.find_spec("torch") is None:
            return None
        return embedder(self._asked.encoder)

    def _own_tokenizer(self, scorer: CausalScorer) -> str | None:
        """Return a file of the scorer's own tokenizer; None where it has none that can be written."""
        tokenizer = getattr(scorer, "tokenizer", None)
        if tokenizer is None:
            return None
        folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="lamr-")))
        file = folder / TOKENIZER_FILE
        file.write_text(tokenizer.to_str(), encoding="utf-8")
        return str(file)


def counter(tokenizer: Path | str | None) -> Counter:
    """Return what counts the reader's tokens: by its `tokenizer.json`, or by default as GPT's o200k does."""
    from lamr_contract.counters import token_counter
    from lamr_contract.encoding import PromptEncoder
    from lamr_contract.spec import bundled_repository

    return token_counter(tokenizer, PromptEncoder.from_repository(bundled_repository()))
