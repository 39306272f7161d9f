"""Fixtures of the client's tests."""

import socket

import pytest

from tests.model.conftest import bert, encoder, indents, qwen, repository, wide_repository

__all__ = ["bert", "encoder", "free_port", "indents", "qwen", "repository", "wide_repository"]


@pytest.fixture
def free_port() -> int:
    """A port that nothing listens on."""
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        port: int = holder.getsockname()[1]
        return port
