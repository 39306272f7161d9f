"""The front: tenants, keys, quotas and fair queues before a pool of Triton servers, on HAProxy.

`tenants_file` reads who may do what, `rendering` writes HAProxy's configuration from it, `running` keeps HAProxy
running, and `control` talks to one that runs. No byte of a request passes through Python."""
