"""`Endpoint`: an HTTP server that speaks OpenAI's API, by the official client. Errors come as lamr's own.

The module knows addresses, keys, retries and errors; what is asked and answered is JSON to it."""

import contextlib
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from lamr_base.errors import (
    AccessDeniedError,
    DeadlineExceededError,
    InvalidInputError,
    MissingPackageError,
    OverloadedError,
    ServerError,
    ServerUnavailableError,
    how_to_install,
    visible,
)

from lamr_client.connection import is_loopback

RETRIES = 5


class Endpoint:
    """A server by the base of its API.

    Attributes:
        base: with `/v1`.
        root: without it."""

    def __init__(
        self, base: str, api_key: str | None = None, timeout: float = 600.0, key_from: str = "LAMR_API_KEY"
    ) -> None:
        """Ask nothing yet.

        Args:
            base: such as `http://127.0.0.1:8000/v1`.
            api_key: opens the server.
            timeout: seconds for each request.
            key_from: the variable that holds the key, for errors.

        Raises:
            InvalidInputError: the address isn't one, or the key would travel in the clear.
            MissingPackageError: the package `openai` isn't installed."""
        parts = urlsplit(base)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InvalidInputError(
                f"an endpoint's address is like http://127.0.0.1:8000/v1, not {base!r}", argument="url"
            )
        if api_key and parts.scheme == "http" and not is_loopback(parts.netloc):
            raise InvalidInputError(
                f"the API key would travel unencrypted; write https://{parts.netloc}", argument="url"
            )
        try:
            import openai  # noqa: PLC0415 - part of an extra
        except ImportError as error:
            raise MissingPackageError(
                f"an endpoint needs the package openai: {how_to_install('endpoint')}", package="openai"
            ) from error
        self.base, self.root = base, base.removesuffix("/v1")
        self._key_from = key_from
        self._openai: Any = openai
        self._client: Any = openai.OpenAI(base_url=base, api_key=api_key or "none", timeout=timeout)

    def ask(self, url: str, body: dict[str, Any] | None = None, retries: int = RETRIES) -> Any:
        """Return the JSON that answers; after what may pass, the client asks again, later and later.

        Args:
            url: begins with `base` or `root`.
            body: posted as JSON; None gets.

        Raises:
            ServerError: nothing answers, or no JSON, or it refuses."""
        client = self._client.with_options(max_retries=retries)
        with self._renamed():
            if body is None:
                return client.get(url, cast_to=object)
            return client.post(url, body=body, cast_to=object)

    def close(self) -> None:
        """Let go of the connections; closing twice is harmless."""
        self._client.close()

    @contextlib.contextmanager
    def _renamed(self) -> Iterator[None]:
        """Turn the client's errors into ours."""
        openai, server = self._openai, self.base
        try:
            yield
        except openai.APITimeoutError as error:
            raise DeadlineExceededError(f"{server} doesn't answer in time", server=server) from error
        except openai.APIConnectionError as error:
            raise ServerUnavailableError(
                f"nothing answers at {server} ({_told(error.__cause__ or error)}); start it, or check the address",
                server=server,
            ) from error
        except (openai.AuthenticationError, openai.PermissionDeniedError) as error:
            raise AccessDeniedError(
                f"{server} wants a key that it knows: set {self._key_from} ({_told(error)})", server=server
            ) from error
        except openai.RateLimitError as error:
            raise OverloadedError(f"{server} is asked too much ({_told(error)})", server=server) from error
        except openai.OpenAIError as error:
            raise ServerError(f"{server} refuses a request ({_told(error)})", server=server) from error
        except (ValueError, RecursionError) as error:  # a body that is no JSON
            raise ServerError(f"{server} answers without JSON ({_told(error)})", server=server) from error


def _told(error: BaseException) -> str:
    return visible(str(error))[:300]
