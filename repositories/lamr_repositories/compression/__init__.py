"""LongCodeZip's method (arXiv 2510.00446): functions and sections chosen by a causal language model's perplexity.

    from lamr_repositories.compression import CompressionOptions, compress
    print(compress(code, "How are retries limited?", scorer, CompressionOptions(rate=0.3)).text)

`scorer` is a `CausalScorer`, such as `lamr_export.TorchScorer` in this process. Importing this package loads no
model."""

from lamr_repositories.compression.compress import Compression, ZippedChunk, compress, compress_chunks
from lamr_repositories.compression.options import CompressionOptions
from lamr_repositories.compression.perplexity import Perplexity

__all__ = ["Compression", "CompressionOptions", "Perplexity", "ZippedChunk", "compress", "compress_chunks"]
