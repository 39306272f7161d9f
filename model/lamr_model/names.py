"""The names in a model repository: of its models, files, tensors and parameters. Each one is written here, once.

The templates of `config.pbtxt` and the documentation spell them out; all other code imports them. The module knows
names and where a file lies. It reads nothing and imports only pathlib, because the decoder's `model.py` imports it
in every process that Triton starts."""

from pathlib import Path

# Models, which are the folders of the repository. Each has one version.
ENSEMBLE = "lamr"
ENCODER = "lamr_encoder"
DECODER = "lamr_decoder"
MODELS = (ENSEMBLE, ENCODER, DECODER)
# The only model of a causal language model's repository.
PERPLEXITY = "lamr_perplexity"
VERSION = "1"

# Files of a model's folder.
CONFIG_FILE = "config.pbtxt"

# Files of a model's version: two or three of the ensemble, two to six of the encoder, two of the decoder.
# A causal language model has five of the first six: it scores no lines.
SPEC_FILE = "lamr.json"
TOKENIZER_FILE = "tokenizer.json"
SCORING_FILE = "scoring.npz"
ONNX_FILE = "model.onnx"
ONNX_DATA_FILE = "model.onnx.data"
REPORT_FILE = "report.json"
WEIGHTS_FILE = "decoder.npz"
PROGRAM_FILE = "model.py"
# Of an encoder that reads query and code apart: the graph of a part, that of what follows, and what they belong to.
PART_FILE = "part.onnx"
FUSION_FILE = "fusion.onnx"
PARTS_FILE = "parts.json"

# Tensors. The encoder and the causal model read a packed batch; the decoder reads `fused` and `document_span`.
INPUT_IDS = "input_ids"
CU_SEQLENS = "cu_seqlens"
MAX_LEN = "max_len"
FUSED = "fused"
RELEVANCE = "relevance"
DOCUMENT_SPAN = "document_span"
KEEP = "keep"
KEEP_PROB = "keep_prob"
RUBRIC_PROB = "rubric_prob"
GATE = "gate"
LOG_PROB = "log_prob"
STATES = "states"  # between the two graphs
ENCODER_INPUTS = (INPUT_IDS, CU_SEQLENS, MAX_LEN)
ENCODER_OUTPUTS = (FUSED, RELEVANCE)
RUBRIC_OUTPUTS = (RUBRIC_PROB, GATE)

# Parameters of the ensemble's configuration and of the causal model's: which model it is.
FINGERPRINT_PARAMETER = "lamr_fingerprint"
NAME_PARAMETER = "lamr_name"
VERSION_PARAMETER = "lamr_version"

# Parameters of the causal model's configuration: what a client must know, so that it needs an address and no file.
SPEC_PARAMETER = "lamr_spec"
TOKENIZER_PARAMETER = "lamr_tokenizer"

# Parameters of the encoder's configuration and of the causal model's: the precision of products, the limits of a run
# and of a request, and the number of token ids.
PRECISION_PARAMETER = "lamr_precision"
MAX_BATCH_TOKENS_PARAMETER = "max_batch_tokens"
MAX_SEQUENCE_TOKENS_PARAMETER = "max_sequence_tokens"
VOCABULARY_PARAMETER = "vocabulary_size"
# What each instance of an encoder that reads query and code apart keeps of the code; none without it.
KEPT_BYTES_PARAMETER = "kept_states_bytes"


def config_file(repository: Path, model: str) -> Path:
    """The configuration of one of the models."""
    return repository / model / CONFIG_FILE


def version_folder(repository: Path, model: str) -> Path:
    """The folder that holds the files of one of the models."""
    return repository / model / VERSION
