"""Training records out of recorded sessions of agents: what one said before a big read, and what it needed of it later.

Readers of logs, and the rule that says what was needed, are `lamr_sessions`; the suite `sessions` uses them,
too. The manifest, and how parts become files, is `lamr_training.histories`' matter.
"""
