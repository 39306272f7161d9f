"""Packages on PyPI as a source of files that questions are made about."""
