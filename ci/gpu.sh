#!/usr/bin/env bash
# All tests that need an NVIDIA GPU, and a short table at the end. Binaries are taken from build/cuda (ci/build.sh cuda).
#   ci/gpu.sh [--quick] [--part checks|faults|right|wrong]… [--results FOLDER]
# Without --part all of them, about ten minutes on an H200. --quick: only CUDA C++ and Triton solutions, no wrong ones.
# Never touches clocks, MIG, persistence or power settings.
set -uo pipefail
cd "$(dirname "$0")/.."
results=out/gpu; quick=0; parts=
while [ $# -gt 0 ]; do
  case "$1" in
    --quick) quick=1;;
    --results) results=${2:?--results needs a folder}; shift;;
    --part)
      case "${2:-}" in checks|faults|right|wrong) parts="$parts $2"; shift;; *) echo "--part takes checks, faults, right or wrong" >&2; exit 2;; esac;;
    *) echo "unknown option $1" >&2; exit 2;;
  esac
  shift
done
asked() { [ -z "$parts" ] || [[ " $parts " == *" $1 "* ]]; }
mkdir -p "$results"
bin=${SOLMARK_BIN:-build/cuda/bin}
export SOLMARK_PYTHON=${SOLMARK_PYTHON:-python3}
if ! "$bin/solmark" doctor > "$results/doctor.txt" 2>&1 && ! grep -q '^ok *device_cuda' "$results/doctor.txt"; then cat "$results/doctor.txt"; fi
if ! grep -q '^ok *device_cuda' "$results/doctor.txt"; then echo "skipped: $(grep device_cuda "$results/doctor.txt")"; echo "0 passed, 0 failed, 1 skipped"; exit 0; fi
passed=0; failed=0
note() { if [ "$1" = 0 ]; then passed=$((passed+1)); echo "ok    $2"; else failed=$((failed+1)); echo "FAIL  $2"; fi; }
for check in solmark-gpu-check solmark-seal-check; do
  asked checks || break
  [ -x "$bin/$check" ] || continue
  timeout 120 "$bin/$check" > "$results/$check.txt" 2>&1; note $? "$check: $(tail -1 "$results/$check.txt")"
done
if asked faults && ! "$SOLMARK_PYTHON" -c 'import pytest' 2>/dev/null; then echo "skip  tests/gpu: $SOLMARK_PYTHON has no pytest"
elif asked faults; then
  SOLMARK_BIN="$bin/solmark" timeout 500 "$SOLMARK_PYTHON" -m pytest -q -p no:cacheprovider tests/gpu > "$results/pytest.txt" 2>&1
  note $? "tests/gpu: $(tail -1 "$results/pytest.txt")"
fi
# Every right solution passes, sealed; every wrong one fails.
for problem in problems/*/; do
  name=$(basename "$problem")
  for solution in "$problem"solutions/*/; do
    kind=$(basename "$solution"); out="$results/$name.$kind.jsonl"
    case $kind in
      cpp|cpp_*|torch_cpp|*cpu*) continue;;
      wrong_*) asked wrong || continue; grep -q '"cpp"' "$solution/solution.json" && continue; [ $quick = 1 ] && continue;;
      *) asked right || continue;;
    esac
    [ $quick = 1 ] && [ "$kind" != cuda ] && [ "$kind" != triton ] && continue
    timeout 300 "$bin/solmark" eval "$problem" -s "$solution/solution.json" -d cuda -o "$out" > "$out.txt" 2>&1; code=$?
    case $kind in
      wrong_*) [ $code = 1 ]; note $? "$name/$kind is refused";;
      *) note $code "$name/$kind: $(tail -1 "$out.txt")";;
    esac
  done
done
echo "$passed passed, $failed failed"
[ $failed = 0 ]
