"""The pruner over HTTP, for callers that speak neither gRPC nor Python; needs the extra `http`.

`limits` keeps load, large bodies and idle connections out; `app` has the bodies and paths, over an
`AsyncPruner`."""
