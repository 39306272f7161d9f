"""Attacks from the machine: the folder one stands in, other users, what reports home, and Triton's own endpoints."""

from tests.attack import machine_folder, machine_grpc, machine_http, machine_memory, machine_reports
from tests.attack.served import setting

__all__ = ["CASES", "setting"]

CASES = (
    *machine_folder.CASES,
    *machine_memory.CASES,
    *machine_reports.CASES,
    *machine_http.CASES,
    *machine_grpc.CASES,
)
