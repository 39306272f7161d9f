"""The python-based `onnxruntime` backend of the bundled Triton: configuration, session, batches."""
