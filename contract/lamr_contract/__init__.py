"""The contract: what model, client, serving and training must agree on.

How a query and a file become a model's inputs, how its outputs become line scores, and the names of everything in a
model repository. The package itself imports nothing, because a model's process on a server needs only its names.
"""
