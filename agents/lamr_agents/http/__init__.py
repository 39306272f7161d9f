"""The pruner over HTTP, for who speaks neither gRPC nor Python; needs the extra `http`.

`bodies` says what requests and answers look like, `limits` keeps load and large bodies out, and `app` joins both with
an `AsyncPruner`.
"""
