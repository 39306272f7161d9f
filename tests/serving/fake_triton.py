"""Stand-ins for the objects that Triton's Python stub gives to a model."""

import numpy as np


class Tensor:
    """A named array that, as in Triton 24.10, can be read only once."""

    def __init__(self, name, array):
        self._name = name
        self._array = np.asarray(array)
        self._reads = 0

    def name(self):
        return self._name

    def as_numpy(self):
        self._reads += 1
        assert self._reads == 1, f"{self._name} was read twice"
        return self._array

    @property
    def array(self):
        return self._array


class TritonError:
    """An error with its code."""

    INTERNAL, INVALID_ARG, CANCELLED = 1, 2, 3

    def __init__(self, message, code=INTERNAL):
        self.message_text = message
        self.code_number = code

    def message(self):
        return self.message_text


class TritonModelException(Exception):  # noqa: N818  # Triton's name
    """The exception that a model raises when it can't be loaded."""


class InferenceResponse:
    """A response: output tensors, or an error."""

    def __init__(self, output_tensors=(), error=None):
        self.tensors = {tensor.name(): tensor.array for tensor in output_tensors}
        self.error = error


class Logger:
    """Triton's log."""

    @staticmethod
    def log_info(message):
        print(message)


class Request:
    """A request: inputs by name, and the names of the outputs that it asks for."""

    def __init__(self, inputs, outputs, parameters=""):
        self._inputs = [Tensor(name, array) for name, array in inputs.items()]
        self._outputs = list(outputs)
        self._parameters = parameters

    def inputs(self):
        return self._inputs

    def parameters(self):
        return self._parameters

    def requested_output_names(self):
        return self._outputs


def get_input_tensor_by_name(request, name):
    return next((tensor for tensor in request.inputs() if tensor.name() == name), None)
