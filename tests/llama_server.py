"""Starts llama.cpp's server for tests/llama_server.rs, prints its address, and ends when its input ends.

Needs a package with that server in it: pip install xllamacpp
Usage: python3 llama_server.py MODEL.gguf
"""

import sys

import xllamacpp

params = xllamacpp.CommonParams()
params.model.path = sys.argv[1]
params.model_alias = {"the-model"}
params.hostnames = ["127.0.0.1"]
params.port = 0
params.n_ctx = 4096
params.n_parallel = 4
params.cpuparams.n_threads = 2
params.endpoint_props = True
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
sys.stdin.read()
