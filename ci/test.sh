#!/usr/bin/env bash
# Sets everything up, then runs all tests that need no GPU: formatting, the readers and the judge under ASan and
# UBSan, then the whole suite. What cannot run here is listed as skipped with its reason.
set -euo pipefail
cd "$(dirname "$0")/.."
ci/install.sh --lint --later
# Downloading and unpacking PyTorch leaves room for the first build.
log=$(mktemp)
ci/install.sh >"$log" 2>&1 & python=$!
ci/lint.sh
# The tests of readers and raw memory run under ASan and UBSan, all others in the ordinary build: nothing twice.
ci/build.sh asan asan_tests
ctest --test-dir build/asan --output-on-failure --label-regex asan --no-tests=error
wait $python || { cat "$log"; exit 4; }
ci/build.sh quick solmark plain_tests
exec ctest --test-dir build/quick --output-on-failure --label-exclude asan --no-tests=error
