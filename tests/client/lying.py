"""Answers of servers that lie: an `InferResult` whose tensors are what a test says."""

from typing import Any

import numpy as np
from tritonclient.grpc import InferResult, service_pb2

NAMES = {
    np.dtype(kind): name for kind, name in (("u1", "UINT8"), ("f4", "FP32"), ("f8", "FP64"), ("i8", "INT64"))
}


def infer_result(**values: Any) -> InferResult:
    """An answer with these tensors; `(datatype, shape, content)` stands for one that isn't as it says."""
    response = service_pb2.ModelInferResponse(model_name="lamr")
    for name, value in values.items():
        array = value if isinstance(value, tuple) else (NAMES[value.dtype], value.shape, value.tobytes())
        response.outputs.add(name=name, datatype=array[0], shape=array[1])
        response.raw_output_contents.append(array[2])
    return InferResult(response)
