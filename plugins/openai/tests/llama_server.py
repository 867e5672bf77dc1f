"""Serve a GGUF file over HTTP in the OpenAI dialect until stdin closes.  llama_server.py MODEL.gguf THREADS  prints the address."""

from __future__ import annotations

import sys

import xllamacpp

if __name__ == "__main__":
    wanted = xllamacpp.CommonParams()
    wanted.model.path = sys.argv[1]
    wanted.n_ctx, wanted.n_parallel, wanted.warmup, wanted.verbosity, wanted.ui = 8192, 1, False, -1, False
    for cpu in (wanted.cpuparams, wanted.cpuparams_batch):
        cpu.n_threads, cpu.poll = int(sys.argv[2]), 0
    server = xllamacpp.Server(wanted)
    print(server.listening_address, flush=True)
    sys.stdin.read()
