#!/usr/bin/env bash
# Sets everything up, then evaluates an example on the CPU device and prints the verdict table.
set -euo pipefail
cd "$(dirname "$0")/.."
ci/install.sh --later
# Downloading and unpacking PyTorch leaves room for the build.
ci/install.sh & python=$!
ci/build.sh quick solmark
wait $python
exec build/quick/bin/solmark eval problems/rms_norm --solution problems/rms_norm/solutions/cpp/solution.json --device cpu "$@"
