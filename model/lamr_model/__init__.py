"""What client, serving, export and training must agree on, from a query and a file to line scores.

How both become a model's inputs, how its outputs become line scores, and the names of everything in a model repository.
The package itself imports nothing, because a model's process on a server needs little of it."""
