#!/usr/bin/env bash
# Builds one CMake preset: ci/build.sh [dev|quick|release|cpu|cuda|asan|tsan|clang|fuzz|tidy] [target…]
set -euo pipefail
cd "$(dirname "$0")/.."
preset=${1:-dev}; shift || true
cmake --preset "$preset" >/dev/null
cmake --build "build/$preset" ${1:+--target "$@"} --parallel "$(nproc)"
