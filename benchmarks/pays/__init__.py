"""Does pruning pay? Profiles on recorded sessions of public repositories, by project in fit and test.

`logs` takes the sessions of `sessions.jsonl` out of git mirrors, `rules` has what profiles are compared with.
`python -m benchmarks.pays` runs them.
"""
