"""Where a training process computes, and how processes agree.

Under `accelerate launch` (or torchrun) the process group, rank and device come from accelerate; processes that were
started otherwise have set up `torch.distributed` themselves, or are alone. This module knows no model.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import Tensor, nn

from lamr_training.errors import RunError


@dataclass(frozen=True)
class Place:
    """One process of a training run.

    Attributes:
        rank, world: its number and how many there are.
        device: where it computes.
    """

    rank: int
    world: int
    device: torch.device

    @property
    def first(self) -> bool:
        """Whether this process writes the files."""
        return self.rank == 0

    def any(self, flag: bool) -> bool:
        """Whether any process says so. All of them must ask."""
        if self.world == 1:
            return flag
        told = torch.tensor(float(flag), device=self.device)
        dist.all_reduce(told, dist.ReduceOp.MAX)
        return bool(told.item())

    def wait(self) -> None:
        """Until all processes are here."""
        if self.world > 1:
            dist.barrier()


def find_place() -> Place:
    """This process's place.

    Raises:
        RunError: it was launched as one of several, but accelerate isn't installed.
    """
    if dist.is_initialized():
        return Place(dist.get_rank(), dist.get_world_size(), _device(int(os.environ.get("LOCAL_RANK", "0"))))
    if int(os.environ.get("WORLD_SIZE", "1")) == 1:
        return Place(0, 1, _device(0))
    try:
        from accelerate import PartialState  # noqa: PLC0415 - an extra, for several processes only
    except ImportError as error:
        raise RunError("several processes need accelerate: pip install 'lamr-server[train]'") from error
    state = PartialState(cpu=not torch.cuda.is_available())
    return Place(state.process_index, state.num_processes, state.device)


@contextmanager
def one_thread() -> Iterator[None]:
    """Compute on one thread while it lasts; the last digit of a sum depends on how many there are."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def average_gradients(model: nn.Module) -> None:
    """Over all processes, in one message."""
    if not dist.is_initialized():
        return
    gradients: list[Tensor] = [p.grad for p in model.parameters() if p.grad is not None]
    flat = torch.cat([gradient.reshape(-1) for gradient in gradients])
    dist.all_reduce(flat)
    flat /= dist.get_world_size()
    for gradient, part in zip(gradients, flat.split([g.numel() for g in gradients]), strict=True):
        gradient.copy_(part.view_as(gradient))


def _device(number: int) -> torch.device:
    return torch.device("cuda", number) if torch.cuda.is_available() else torch.device("cpu")
