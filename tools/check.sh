#!/bin/sh
# Every check of the project, cheap ones first.  check.sh BIN_DIRECTORY
set -eu
bin=$1
"$bin/ruff" check .
"$bin/ruff" format --check .
"$bin/mypy"
"$bin/lint-imports"
"$bin/python" -m pytest
