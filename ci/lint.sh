#!/usr/bin/env bash
# Formatting, file sizes and words that must not be in the repository. `ci/lint.sh --fix` formats.
set -euo pipefail
cd "$(dirname "$0")/.."
mapfile -t sources < <(git ls-files --cached --others --exclude-standard 'src/*.h' 'src/*.cpp' 'fuzz/*.h' 'fuzz/*.cpp' 'tests/*.h' 'tests/*.cpp' 'bench/*.cpp')
existing=(); for file in "${sources[@]}"; do [ -f "$file" ] && existing+=("$file"); done
if [ "${1:-}" = --fix ]; then clang-format-19 -i "${existing[@]}"; exit; fi
clang-format-19 --dry-run --Werror "${existing[@]}"
status=0
while read -r lines file; do
  if [ "$lines" -gt 800 ]; then echo "$file has $lines lines, the limit is 800"; status=1; fi
done < <(wc -l "${existing[@]}" | grep -v ' total$')
exit $status
