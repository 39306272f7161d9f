"""Training LaMR, from records to a checkpoint folder.

`commits` and `written` make records, `labels` says which of their lines are worth keeping, `backbone` is what training
starts from, `loop` trains, `fits` fits what scores lines, `recipes` has the presets. Labels and records need no
torch."""

from lamr_base.silence import keep_silent

keep_silent()  # before any module here imports transformers
