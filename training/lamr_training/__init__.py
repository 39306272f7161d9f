"""Training LaMR, from records to a checkpoint folder.

The rooms, in the order in which records pass through them: `commits` and `written` make records, `labels` says which of
their lines are worth keeping, `model` is what training starts from, `loop` trains, `fits` fits what scores lines,
`recipes` has the presets of `lamr train`. Only the last four need torch.
"""

from __future__ import annotations

from lamr_base.silence import keep_silent

keep_silent()  # before any module here imports transformers
