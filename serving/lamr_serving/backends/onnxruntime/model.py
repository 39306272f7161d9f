"""The `onnxruntime` backend of the bundled Triton, which has no such backend in C++; Triton's Python backend loads it.

The same `config.pbtxt` runs in NVIDIA's containers on Triton's own onnxruntime backend, which Triton prefers where it
exists. This file only opens the session. The work is in `lamr_serving.onnx_backend`."""

from pathlib import Path
from typing import Any

import triton_python_backend_utils as pb_utils
from lamr_base.silence import import_onnxruntime
from lamr_base.stalls import StallWatch
from lamr_serving.onnx_backend.backend import OnnxBackend
from lamr_serving.onnx_backend.session import ModelConfigError, open_session, read_config, run_options

onnxruntime = import_onnxruntime()


class TritonPythonModel:
    """One instance of a model, with one session."""

    def initialize(self, args: dict[str, str]) -> None:
        try:
            config = read_config(args["model_config"])
            file = Path(args["model_repository"], args["model_version"], config.file)
            device = int(args["model_instance_device_id"])
            session = open_session(config, file, args["model_instance_kind"], device)
        except ModelConfigError as error:
            raise pb_utils.TritonModelException(str(error)) from error
        options = run_options(config, onnxruntime)
        self._backend = OnnxBackend(config, lambda names, feed: session.run(names, feed, options), pb_utils)
        pb_utils.Logger.log_info(
            f"{args['model_instance_name']}: {file}, onnxruntime {onnxruntime.__version__}, "
            f"{session.get_providers()[0]}, {session.get_session_options().intra_op_num_threads} threads"
        )
        self._watch = StallWatch()
        self._watch.start()

    def execute(self, requests: list[Any]) -> list[Any]:
        with self._watch.answering():
            return self._backend.execute(requests)
