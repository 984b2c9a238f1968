#!/usr/bin/env bash
# Installs everything that building, testing and using Solmark needs, on Debian 12 or Ubuntu 24.04: system packages,
# and a Python environment with PyTorch in .venv. Safe to run again; does only what is missing.
#   ci/install.sh          to build, test and run
#   ci/install.sh --lint   also the pinned clang tools
#   ci/install.sh --later  all but what goes into .venv: a second call brings that, beside a build perhaps
# A Python that already has PyTorch is used instead of .venv when SOLMARK_PYTHON names it.
set -euo pipefail
cd "$(dirname "$0")/.."

packages=(build-essential cmake ninja-build ccache git python3 python3-venv python3-dev
          libcli11-dev libfmt-dev nlohmann-json3-dev libtomlplusplus-dev libssl-dev libxxhash-dev
          libgtest-dev libgmock-dev)
lint=0; later=0
for flag in "$@"; do
  case $flag in
    --lint) lint=1;;
    --later) later=1;;
    *) echo "error: ci/install.sh knows --lint and --later, not $flag" >&2; exit 2;;
  esac
done
if [ $lint = 1 ]; then packages+=(clang-19 clang-format-19 clang-tidy-19 libclang-rt-19-dev); fi

missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing+=("$package")
done
if [ ${#missing[@]} -gt 0 ]; then
  sudo=(); [ "$(id -u)" = 0 ] || sudo=(sudo)
  echo "installing ${missing[*]}"
  "${sudo[@]}" apt-get update -qq
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
fi

has_torch() { "$1" -c 'import torch, numpy, safetensors, jsonschema, pytest' >/dev/null 2>&1; }
python=${SOLMARK_PYTHON:-.venv/bin/python3}
if ! has_torch "$python"; then
  if [ -n "${SOLMARK_PYTHON:-}" ]; then
    echo "error: $SOLMARK_PYTHON lacks torch, numpy, safetensors, jsonschema or pytest" >&2
    exit 4
  fi
  [ -x .venv/bin/python3 ] || python3 -m venv .venv
  [ $later = 0 ] || exit 0
  echo "filling .venv with PyTorch (a few GB to download the first time)"
  .venv/bin/python3 -m pip install --quiet --disable-pip-version-check 'torch>=2.9,<2.12' numpy safetensors jsonschema pytest
fi
