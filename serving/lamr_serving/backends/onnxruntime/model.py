"""The `onnxruntime` backend of the bundled Triton, which has no C++ one: loaded by Triton's Python backend.

The same `config.pbtxt` runs on Triton's own onnxruntime backend in NVIDIA's containers, which Triton prefers
where it exists. This file only opens the session; the work is in `lamr_serving`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import onnxruntime
import triton_python_backend_utils as pb_utils
from lamr_serving.onnx_backend.backend import OnnxBackend
from lamr_serving.onnx_backend.config import ModelConfigError, read_config
from lamr_serving.onnx_backend.session import open_session, run_options


class TritonPythonModel:
    """One instance: one session."""

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

    def execute(self, requests: list[Any]) -> list[Any]:
        return self._backend.execute(requests)
