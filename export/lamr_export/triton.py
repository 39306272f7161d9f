"""What Triton reads of an exported model: each `config.pbtxt`, from templates, and each `model.py`.

The templates beside this module hold Triton's settings and the reasons for them. The module fills in what depends on
the model. Of files it writes those of the line model alone."""

import json
from importlib import resources
from string import Template

from lamr_model.names import DECODER, PERPLEXITY, PROGRAM_FILE, version_folder
from lamr_model.perplexity.causal_spec import CausalSpec, to_parameter
from lamr_model.spec import ModelSpec, bundled_repository
from lamr_serving.engines import engine_for

TEMPLATES = resources.files("lamr_export") / "templates"

_TOKENS_PER_RUN = 8192  # attention scores grow with the batch and with the square of a sequence's length
_MOST_REQUESTS = 8
# A run of this size is as fast for each token as any on two cores (docs/lab/performance.md), and smaller runs pad less.
_TOKENS_PER_CPU_RUN = 1024
# From this number of parameters on a second copy of the weights is too much for most machines.
_LARGE = 100_000_000
# Up to this number of parameters times a chunk's tokens two cores read many chunks in a second.
_QUICK = 20_000_000_000
# How long chunks may wait for an encoder, in seconds. For a quick one it is what bounds an overloaded server's latency
# (docs/lab/survival.md); another one needs so long for the chunks of a single file.
_QUICK_WAIT, _LONG_WAIT = 2, 60
# With a window of 8,192 tokens a server on two cores would not be ready for a minute.
_LONGEST_WARM_UP = 2048
# Nobody waits for a causal model but the one who compresses a file: minutes of large models are as they should be.
_CAUSAL_WAIT, _CAUSAL_WARM_UP = 300, 256


def default_batch_size(window: int) -> int:
    """The most requests in one execution: eight, and fewer for windows beyond 1,024 tokens."""
    return max(1, min(_MOST_REQUESTS, _TOKENS_PER_RUN // window))


def default_instances(parameters: int) -> int:
    """Copies of the encoder that run side by side: two, or one if it has 100 million parameters or more."""
    return 1 if parameters >= _LARGE else 2


def default_wait(parameters: int, window: int) -> int:
    """Seconds after which a chunk that still waits for the encoder is refused: two, and a minute for slow encoders."""
    return _QUICK_WAIT if parameters * window <= _QUICK else _LONG_WAIT


def model_config(  # noqa: PLR0913, PLR0917 - one argument a setting
    model: str, spec: ModelSpec, width: int, max_batch_size: int, precision: str = "fp32", parameters: int = 0
) -> str:
    template = (TEMPLATES / f"{model}.pbtxt").read_text(encoding="utf-8")
    return Template(template).substitute(
        max_batch_size=max_batch_size,
        width=width,
        warm_up=min(spec.chunking.window, _LONGEST_WARM_UP),
        engine=engine_for(precision).pbtxt(),
        window=spec.chunking.window,
        max_batch_tokens=max(_TOKENS_PER_CPU_RUN, spec.chunking.window),
        instances=default_instances(parameters),
        wait=default_wait(parameters, spec.chunking.window) * 1_000_000,
        rubrics=len(spec.rubrics),
        **_names(spec),
    )


def _names(spec: ModelSpec | CausalSpec) -> dict[str, str]:
    names = ("fingerprint", "name", "version")
    return {each: json.dumps(getattr(spec, each), ensure_ascii=False) for each in names}


def causal_config(spec: CausalSpec, tokenizer: bytes, max_batch_size: int, parameters: int) -> str:
    template = (TEMPLATES / f"{PERPLEXITY}.pbtxt").read_text(encoding="utf-8")
    return Template(template).substitute(
        max_batch_size=max_batch_size,
        warm_up=min(spec.max_tokens, _CAUSAL_WARM_UP),
        engine=engine_for("fp32").pbtxt(),
        window=spec.max_tokens,
        vocabulary=spec.vocabulary,
        max_batch_tokens=max(_TOKENS_PER_CPU_RUN, spec.max_tokens),
        instances=default_instances(parameters),
        wait=_CAUSAL_WAIT * 1_000_000,
        **_names(spec),
        spec=json.dumps(spec.to_json(), ensure_ascii=False),
        tokenizer=to_parameter(tokenizer),
    )


def decoder_program() -> bytes:
    """The decoder's `model.py`, which is the same everywhere: the one that is bundled."""
    return (version_folder(bundled_repository(), DECODER) / PROGRAM_FILE).read_bytes()
