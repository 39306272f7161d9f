"""Where a training process computes, and how several processes agree.

Under `accelerate launch` (or torchrun) the process group, rank and device come from accelerate. Processes that were
started in another way have set up `torch.distributed` themselves, or are alone.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

import torch
import torch.distributed as dist
from lamr_base.errors import how_to_install
from torch import Tensor, nn

from lamr_training.errors import RunError


@dataclass(frozen=True)
class Process:
    """One process of a training run."""

    rank: int  # its number, from 0
    world: int  # how many processes there are
    device: torch.device  # where it computes

    @property
    def first(self) -> bool:
        """Whether this process writes the files."""
        return self.rank == 0

    def any(self, flag: bool) -> bool:
        """Whether `flag` is true in any process. Every process must call this at the same point."""
        if self.world == 1:
            return flag
        highest = torch.tensor(float(flag), device=self.device)
        dist.all_reduce(highest, dist.ReduceOp.MAX)
        return bool(highest.item())

    def wait(self) -> None:
        """Wait until all processes have come to this point."""
        if self.world > 1:
            dist.barrier()


def current_process() -> Process:
    """Find out this process's place.

    Raises:
        RunError: it was launched as one of several, but accelerate isn't installed.
    """
    if dist.is_initialized():
        return Process(
            dist.get_rank(), dist.get_world_size(), _device(int(os.environ.get("LOCAL_RANK", "0")))
        )
    if int(os.environ.get("WORLD_SIZE", "1")) == 1:
        return Process(0, 1, _device(0))
    try:
        from accelerate import PartialState  # noqa: PLC0415 - an extra, for several processes only
    except ImportError as error:
        raise RunError(f"several processes need accelerate: {how_to_install('train')}") from error
    state = PartialState(cpu=not torch.cuda.is_available())
    return Process(state.process_index, state.num_processes, state.device)


def average_gradients(model: nn.Module) -> None:
    """Replace the gradients of every process by their mean over all processes, in one message."""
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
