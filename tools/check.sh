#!/bin/sh
# Every check of the project, cheap ones first.  check.sh BIN_DIRECTORY
set -eu
bin=$1
# Some tests let a voice speak or ask systemd's own tools; without these programs they skip and say so.
for wanted in espeak-ng:espeak-ng systemd-analyze:systemd; do
  if ! command -v "${wanted%%:*}" >/dev/null && command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
    package=${wanted#*:}
    { apt-get install -y -qq "$package" || { apt-get update -qq && apt-get install -y -qq "$package"; }; } >/dev/null 2>&1 || echo "$package cannot be installed"
  fi
done
"$bin/ruff" check .
"$bin/ruff" format --check .
"$bin/mypy"
"$bin/lint-imports"
# One process a core; the tests of a file stay together, for they share what they made. A process that dies is not replaced: its test is named.
"$bin/python" -m pytest -rs -n auto --maxprocesses 4 --dist loadfile --max-worker-restart 0
