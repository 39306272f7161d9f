"""Tells Ray, before a test imports it, that a thread of a broken-off batch mustn't join a cluster anew."""

import os

os.environ["RAY_ENABLE_AUTO_CONNECT"] = "0"  # as the command does
