#!/bin/sh
# Make the virtual environment and install the core and the first-party plugins in it.  setup.sh PYTHON VENV PLUGIN...
set -eu
python=$1 venv=$2
shift 2
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { echo "edgemem needs Python 3.10 or newer; $python is older (try: make PYTHON=python3.11)" >&2; exit 2; }
if ! "$python" -m venv "$venv" 2>/dev/null; then
  # Debian and Ubuntu split venv from Python; virtualenv from pip does without it.
  rm -rf "$venv"
  "$python" -m pip install --user --quiet virtualenv 2>/dev/null || "$python" -m pip install --user --break-system-packages --quiet virtualenv \
    || { echo "cannot make a virtual environment; install it first: apt-get install python3-venv" >&2; exit 2; }
  "$python" -m virtualenv --quiet "$venv"
fi
set -- -e '.[encrypted]' $(for plugin in "$@"; do printf ' -e plugins/%s' "$plugin"; done)
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check -c constraints.txt --requirement tools/requirements-dev.txt "$@"
# As pip does for what it copies, so that a first question need not compile: 0.3 s of a processor. Where nothing may be written it works without.
"$venv/bin/python" -m compileall -q edgemem plugins -x '/(tests|\.venv)/' || true
