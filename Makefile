# Two commands matter: `make demo` and `make test`. Both work on a fresh machine with python3, pip and make.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PLUGINS := onnx openvino tensorrt convert ocr vam hearing openai gguf egagent eventmem
STAMP := $(VENV)/.installed

.PHONY: demo test lint types contract bench eval torture setup clean

demo: setup
	$(BIN)/edgemem demo

test: setup
	tools/check.sh $(BIN)

setup: $(STAMP)

$(STAMP): pyproject.toml constraints.txt $(PLUGINS:%=plugins/%/pyproject.toml) tools/setup.sh
	tools/setup.sh $(PYTHON) $(VENV) $(PLUGINS)
	touch $@

lint: setup
	$(BIN)/ruff check . && $(BIN)/ruff format --check .

types: setup
	$(BIN)/mypy

contract: setup
	$(BIN)/lint-imports

bench: setup
	$(BIN)/python tools/bench_report.py

# EVAL: a folder with make_lifelog.py, its questions and score.py; WORK: where streams and memories are kept.
WORK ?= build/eval
eval: setup
	$(BIN)/python tools/bench_report.py --eval "$(EVAL)" --work "$(WORK)"

torture: setup
	$(BIN)/python tools/torture.py --cycles 10000
	$(BIN)/python tools/fuzz.py --seconds 60
	$(BIN)/python tools/eval/odd_questions.py --seconds 60

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
