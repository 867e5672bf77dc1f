#!/bin/sh
# Every check of the project, cheap ones first.  check.sh BIN_DIRECTORY
set -eu
bin=$1
# Some tests let a voice speak; without this program they skip and say so.
if ! command -v espeak-ng >/dev/null && command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
  { apt-get install -y -qq espeak-ng || { apt-get update -qq && apt-get install -y -qq espeak-ng; }; } >/dev/null 2>&1 || echo "espeak-ng cannot be installed"
fi
"$bin/ruff" check .
"$bin/ruff" format --check .
"$bin/mypy"
"$bin/lint-imports"
# One process a core; the tests of a file stay together, for they share what they made.
"$bin/python" -m pytest -rs -n auto --maxprocesses 4 --dist loadfile
