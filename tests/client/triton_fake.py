"""A gRPC server that speaks as much of Triton's protocol as the client uses; its model is `answers.answer`."""

import threading
from concurrent.futures import ThreadPoolExecutor

import grpc
import numpy as np
from lamr_model.model_io import ChunkRequest
from lamr_model.names import ENSEMBLE
from lamr_model.spec import ModelSpec
from tritonclient.grpc import service_pb2, service_pb2_grpc

from .answers import answer

NEVER = 1e9  # seconds; gRPC gives more than this for a call without a deadline
TYPES = {"keep": "UINT8", "keep_prob": "FP32", "rubric_prob": "FP32", "gate": "FP32", "relevance": "FP32"}


class FakeTriton(service_pb2_grpc.GRPCInferenceServiceServicer):
    """A server for as long as the `with` block lasts, at `address`.

    `faults` are pairs of status and message that are answered one by one before anything else. Inference waits until
    `hold` is set. `drop` names outputs to leave out. `wire_deadlines` and `queue_timeouts` hold what each inference
    came with: the seconds of gRPC's own deadline, and Triton's `timeout` parameter."""

    def __init__(
        self, spec: ModelSpec | None, *, batched: bool = False, faults=(), drop=(), port: int = 0
    ) -> None:
        self.spec = spec
        self.batched = batched
        self.faults = list(faults)
        self.drop = drop
        self.hold = threading.Event()
        self.hold.set()
        self.waiting = threading.Semaphore(0)
        self.cancelled = threading.Semaphore(0)
        self.asked: list[tuple[str, ...]] = []
        self.wire_deadlines: list[float | None] = []
        self.queue_timeouts: list[int | None] = []
        self.ready = True
        self.metadata: list[tuple] = []  # of each call but those about readiness
        self._server = grpc.server(ThreadPoolExecutor(8), options=[("grpc.so_reuseport", 0)])
        service_pb2_grpc.add_GRPCInferenceServiceServicer_to_server(self, self._server)
        self.port = self._server.add_insecure_port(f"127.0.0.1:{port}")
        self.address = f"127.0.0.1:{self.port}"

    def __enter__(self) -> "FakeTriton":
        self._server.start()
        return self

    def __exit__(self, *exception) -> None:
        self.hold.set()
        self.stop()

    def stop(self) -> None:
        self._server.stop(0).wait()

    def ServerReady(self, request, context):
        return service_pb2.ServerReadyResponse(ready=self.ready)

    def ModelConfig(self, request, context):
        self.metadata.append(context.invocation_metadata())
        if request.name != ENSEMBLE:
            context.abort(
                grpc.StatusCode.NOT_FOUND, f"Request for unknown model: '{request.name}' is not found"
            )
        response = service_pb2.ModelConfigResponse()
        response.config.name = ENSEMBLE
        response.config.max_batch_size = 8 if self.batched else 0
        if self.spec is not None:
            response.config.parameters["lamr_fingerprint"].string_value = self.spec.fingerprint
        return response

    def ModelInfer(self, request, context):
        self.metadata.append(context.invocation_metadata())
        context.add_callback(self.cancelled.release)
        left = context.time_remaining()
        self.wire_deadlines.append(left if left is not None and left < NEVER else None)
        limited = "timeout" in request.parameters
        self.queue_timeouts.append(request.parameters["timeout"].int64_param if limited else None)
        self.waiting.release()
        self.hold.wait(20)
        wanted = request.parameters["lamr_fingerprint"].string_param if request.parameters else ""
        if self.spec is not None and wanted not in ("", self.spec.fingerprint):
            context.abort(
                grpc.StatusCode.INVALID_ARGUMENT, f"this model's fingerprint is {self.spec.fingerprint}"
            )
        if self.faults:
            context.abort(*self.faults.pop(0))
        tensors = dict(
            zip((tensor.name for tensor in request.inputs), request.raw_input_contents, strict=True)
        )
        ids = np.frombuffer(tensors["input_ids"], np.int64)
        span = np.frombuffer(tensors["document_span"], np.int32)
        shapes = {tensor.name: list(tensor.shape) for tensor in request.inputs}
        lead = [1] if self.batched else []
        assert shapes == {"input_ids": [*lead, len(ids)], "document_span": [*lead, 2]}
        names = tuple(output.name for output in request.outputs)
        self.asked.append(names)
        result = answer(ChunkRequest(ids, (int(span[0]), int(span[1])), "rubric_prob" in names))
        return self._response({**vars(result), "relevance": np.float32([result.relevance])}, names, lead)

    def _response(self, values, names, lead):
        response = service_pb2.ModelInferResponse(model_name=ENSEMBLE)
        for name in names:
            if name not in self.drop:
                shape = [*lead, *values[name].shape]
                response.outputs.add(name=name, datatype=TYPES[name], shape=shape)
                response.raw_output_contents.append(values[name].tobytes())
        return response
