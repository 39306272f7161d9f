"""The words that users choose among, alike in calls, on the command line and in a `lamr.toml`."""

from typing import Literal

EffortName = Literal["auto", "instant", "full"]
"""How much of a file the encoder reads."""
ProfileName = Literal["lossless", "careful", "balanced", "eager"]
"""How boldly results of an agent's tools are cut."""
TokenizerName = Literal["o200k", "cl100k", "claude", "qwen", "llama", "any", "model"]
"""What counts tokens: tables of five tokenizers, a bound for all, and the pruning model's own; or a file."""
OnError = Literal["raise", "passthrough"]
"""Whether a failing server ends a call, or gives the code as it came."""
