"""Learns which words of code go with which words of a query, from records of whole files."""
