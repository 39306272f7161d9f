"""Many jobs, each a question about a file, some code or a repository: one answer or one named error a row."""

from lamr_repositories.batch.options import BatchOptions
from lamr_repositories.batch.run import run_batch
from lamr_repositories.batch.shards import BatchCount

__all__ = ["BatchCount", "BatchOptions", "run_batch"]
