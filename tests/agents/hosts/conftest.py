"""Tests with the real hosts run where `make test-hosts` has installed them and says so in LAMR_HOSTS."""

import os

from tests.client.conftest import free_port

unused_port = free_port  # a second one

__all__ = ["free_port", "unused_port"]

collect_ignore_glob = [] if os.environ.get("LAMR_HOSTS") else ["test_*.py"]
