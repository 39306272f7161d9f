"""Whether requests would be answered: the server behind is asked, though not for each that asks."""

from __future__ import annotations

import asyncio
import time

from lamr_client import AsyncPruner, LamrError

ASK_SECONDS, KEPT_SECONDS = 2.0, 2.0
"""For the server's answer, and that it is taken for the present one."""


class Readiness:
    """What is known of the server behind.

    Args:
        pruner: which asks it.
    """

    def __init__(self, pruner: AsyncPruner) -> None:
        self._pruner = pruner
        self._asking = asyncio.Lock()
        self._until = 0.0
        self._trouble: LamrError | None = None

    async def trouble(self) -> LamrError | None:
        """Return why requests wouldn't be answered; None if they would."""
        async with self._asking:
            if time.monotonic() >= self._until:
                self._trouble = await self._ask()
                self._until = time.monotonic() + KEPT_SECONDS
            return self._trouble

    async def _ask(self) -> LamrError | None:
        try:
            await self._pruner.check(ASK_SECONDS)
        except LamrError as error:
            return error
        return None
