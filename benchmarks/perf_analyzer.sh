#!/bin/sh
# NVIDIA's perf_analyzer against a served ensemble: latency and throughput by concurrency.
#
#   lamr serve --port 8001 &
#   benchmarks/perf_analyzer.sh [HOST:PORT] [TOKENS]
#
# The binary comes in the wheel tritonclient 2.51.0, which is unpacked into a folder of its own, beside the CUDA runtime
# that it is linked with; Debian's libb64-0d has to be there (apt install libb64-0d). The chunk is random ids of one length.
set -eu
server=${1:-127.0.0.1:8001}
tokens=${2:-256}
folder=${PERF_ANALYZER:-${TMPDIR:-/tmp}/lamr-perf-analyzer}
if [ ! -d "$folder/site" ]; then
    python3 -m pip install --quiet --no-deps --target "$folder/site" \
        'tritonclient==2.51.0' 'nvidia-cuda-runtime-cu12'
fi
binary=$(find "$folder/site" -name perf_analyzer -type f | head -n 1)
[ -n "$binary" ] || { echo "the wheel of tritonclient 2.51.0 holds no perf_analyzer for this machine" >&2; exit 1; }
chmod +x "$binary"
python3 - "$tokens" > "$folder/input.json" <<'PYTHON'
import json, random, sys
tokens = int(sys.argv[1])
ids = [random.Random(0).randrange(1000, 20000) for _ in range(tokens)]
entry = {"input_ids": {"content": ids, "shape": [tokens]}, "document_span": {"content": [8, tokens], "shape": [2]}}
print(json.dumps({"data": [entry]}))
PYTHON
# Windows end after a number of requests, not after a time: a slow or busy machine would have too few in one.
LD_LIBRARY_PATH="$folder/site/nvidia/cuda_runtime/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" \
    "$binary" -m lamr -u "$server" -i grpc -b 1 --input-data "$folder/input.json" \
    --concurrency-range 1:16:5 --measurement-mode count_windows --measurement-request-count 300 --percentile 95 --stability-percentage 30
