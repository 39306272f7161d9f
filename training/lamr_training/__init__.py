"""Training LaMR, from packages and histories to a checkpoint folder.

The rooms, in the order in which records pass through them: `corpus` makes records of packages and `histories` of
commits, `labels` says which of their lines are worth keeping, `model` is what training starts from, `loop` trains,
`fits` fits what scores lines, `recipes` has the presets of `lamr train`. Only the last four need torch.
"""
