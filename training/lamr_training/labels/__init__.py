"""Rubric labels: which lines answer a query, and which lines those depend on."""
