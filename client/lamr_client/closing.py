"""What `with` means for things that are closed: pruners, transports and scorers. The module knows nothing of them."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing_extensions import Self  # in `typing` from Python 3.11


class Closing:
    """Is closed at the end of a `with` block."""

    def close(self) -> None:
        """Let go of what is held. Closing twice is harmless."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class AsyncClosing:
    """Is closed at the end of an `async with` block."""

    async def close(self) -> None:
        """Let go of what is held. Closing twice is harmless."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
