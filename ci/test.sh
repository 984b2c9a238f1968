#!/usr/bin/env bash
# Sets everything up, then runs all tests that need no GPU: formatting, the readers and the judge under ASan and
# UBSan, then the whole suite. What cannot run here is listed as skipped with its reason.
set -euo pipefail
cd "$(dirname "$0")/.."
ci/install.sh --lint
ci/lint.sh
ci/build.sh asan asan_tests
ctest --test-dir build/asan --output-on-failure --label-regex asan --no-tests=error
ci/build.sh dev
exec ctest --test-dir build/dev --output-on-failure --no-tests=error
