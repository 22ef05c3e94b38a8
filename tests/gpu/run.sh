#!/usr/bin/env bash
# For whoever has an NVIDIA graphics card: builds the CUDA module, and measures it on the card. See run.py.
set -euo pipefail
cd "$(dirname "$0")/../.."
exec python3 tests/gpu/run.py "$@"
