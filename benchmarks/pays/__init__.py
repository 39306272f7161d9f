"""Does pruning pay? Profiles and gates on recorded sessions of public repositories, by project in fit and test.

`logs` takes the sessions of `sessions.jsonl` out of git mirrors, `forecast` foresees how many requests follow and
whether an agent comes back, and `measure` compares ways to cut. `python -m benchmarks.pays` runs them.
"""
