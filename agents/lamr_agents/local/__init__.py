"""The local server behind hooks: keeps a pruner warm, and remembers what was shown.

`server` answers calls on a socket of the user's; `store` is the record of what was decided, and `texts` keeps
the originals of what lies in no file; both are limited in age and size."""
