"""Prune one file for a question, in process or with a server, and say why each line was kept.

python docs/examples/prune_file.py client/lamr_client/dispatch.py "When is a failed request sent again?"
[HOST:PORT]"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

from lamr_client import InvalidInputError, Pruner, ServerError


def main() -> None:
    """Prune, print the code, then why its lines were kept."""
    file, query, *server = sys.argv[1:]
    try:
        with Pruner(server[0] if server else None) as pruner:
            result = pruner.prune(query, Path(file).read_bytes(), path=file, line_numbers=True)
    except InvalidInputError as error:
        sys.exit(f"can't prune {file}: {error}")
    except ServerError as error:
        sys.exit(f"the server failed: {error}")
    print(result.text)
    print(f"\n{result.tokens_in} tokens before, {result.tokens_out} after; relevance {result.relevance}")
    print(f"lines kept: {dict(Counter(result.reasons.values()))}")


if __name__ == "__main__":
    main()
