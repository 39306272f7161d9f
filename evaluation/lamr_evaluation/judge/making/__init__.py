"""Items made of code and histories by rules: without a model, without labels, and with the rule's name in each."""

from lamr_evaluation.judge.making.make import MakingOptions, make_items

__all__ = ["MakingOptions", "make_items"]
