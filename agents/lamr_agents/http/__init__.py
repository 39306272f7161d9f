"""The pruner over HTTP, for who speaks neither gRPC nor Python; needs the extra `http`.

`bodies` says what requests and answers look like, `limits` keeps load, large bodies and idle connections out, and `app`
joins both with an `AsyncPruner`.
"""
