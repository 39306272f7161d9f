"""The local server behind hooks: keeps a pruner warm, and remembers what was shown.

`server` answers calls on a socket of the user's; `store` is the record of what was decided, limited in age and size.
"""
