# The front door; CMake does the work. `make help` lists what there is.
#
#   make SETUP=no          never installs packages
#   make OPENBLAS=PREFIX   uses this OpenBLAS, which must be built with OpenMP
.PHONY: all cuda cluster test-cluster test-cluster-hosts docs wheel deb test-packages demo demo-server test test-long test-sanitizers test-emulated test-aarch64 test-kill test-engines bench bench-eval bench-engines bench-serve bench-sparse soak lint install clean help

export SETUP

all: ## name and install missing packages, and build build/ease
	@scripts/setup build
	@cmake --preset release $(if $(OPENBLAS),-DOPENBLAS:PATH="$(OPENBLAS)") >/dev/null
	@cmake --build build

cuda: all ## build build/libease-cuda.so, the backend for NVIDIA GPUs (needs nvcc of CUDA 13)
	@command -v nvcc >/dev/null || { echo "nvcc of CUDA 13 is needed, and not on the PATH" >&2; exit 1; }
	@cmake --preset release -DEASE_CUDA=ON >/dev/null
	@cmake --build build

cluster: ## build build/ease-cluster, which trains on several machines (MPI, StarPU)
	@scripts/setup cluster
	@cmake --preset release -DEASE_CLUSTER=ON >/dev/null
	@cmake --build build

wheel: ## a wheel for pip and its sources in dist/, for Linux since glibc 2.34
	@scripts/setup packages
	@scripts/wheel

deb: ## Debian packages in dist/: ease, ease-server, libease1, libease-dev, python3-ease
	@scripts/setup packages
	@scripts/deb

demo: all ## train on the embedded example and recommend, with reasons
	@examples/demo.sh build/ease

demo-server: all ## train on the embedded example and serve it, with a page for the browser
	@examples/demo-server.sh build/ease

test: ## install missing packages, build, and run the tests (minutes)
	@scripts/setup test
	@scripts/test release

test-long: ## the remaining tests: Python module, memory, engines, other kernels, real data
	@scripts/setup test
	@scripts/test long

test-sanitizers: ## the tests with ASan and UBSan, fuzzers, and TSan
	@scripts/setup test
	@scripts/test asan-ubsan tsan

test-emulated: all ## the C tests on other processors, emulated by qemu (minutes)
	@scripts/setup emulated
	@scripts/test-emulated

test-aarch64: ## the C tests on aarch64: cross compiler, Debian's libraries, qemu (an hour)
	@scripts/setup aarch64
	@scripts/sysroot
	@scripts/test aarch64

test-kill: all ## kill 200 updates of a model, and 200 servers, at random moments (minutes)
	@EASE_KILLS=200 /usr/bin/python3 tests/test_updating.py killed
	@EASE_KILLS=200 /usr/bin/python3 tests/test_server_kills.py

test-cluster: cluster ## the tests of ease-cluster, with processes and hosts on this machine (minutes)
	@/usr/bin/python3 tests/test_cluster.py
	@/usr/bin/python3 tests/test_cluster_hosts.py || [ $$? -eq 77 ] # skipped, with a reason

test-cluster-hosts: cluster ## ten hosts of ease-cluster killed or cut off at random moments (root; minutes)
	@EASE_CLUSTER_FAULTS=10 /usr/bin/python3 tests/test_cluster_hosts.py

test-engines: all ## test Gram matrices that a local Spark computes (minutes)
	@scripts/setup engines
	@/usr/bin/python3 tests/spark_engine.py

bench: all ## measure ease and other libraries for docs/performance.md (an hour)
	@scripts/setup bench
	@bench/bench.py

bench-eval: all ## compare the speed of eval with NumPy, at gowalla's size (minutes)
	@scripts/setup test
	@bench/eval.py

bench-engines: all ## measure X'X by DuckDB, PostgreSQL, Spark and ease (minutes)
	@scripts/setup engines
	@bench/engines.py

bench-serve: all ## requests a second of the server, and of FastAPI on NumPy (minutes)
	@scripts/setup serve
	@bench/serve.py

bench-sparse: all ## measure ease-sparse, SANSA and ELSA, up to a million items (hours)
	@scripts/setup bench
	@bench/sparse.py
	@bench/sparse_peers.py

soak: all ## ten minutes of load, swaps, feedback and bad clients for the server
	@scripts/setup serve
	@bench/soak.py

docs: all ## build the documentation as a site with search: build/docs/html/index.html
	@scripts/setup docs
	@scripts/docs

test-packages: all wheel deb ## both, in bare Debian 12 and 13 (root; downloads some 400 MB; minutes)
	@$$([ "$$(id -u)" = 0 ] || echo sudo) /usr/bin/python3 tests/packages.py

lint: ## formatting, the order of folders, warnings of both compilers, clang-tidy
	@scripts/setup test
	@scripts/lint

install: all ## install program, library, header, manual (PREFIX=/usr/local, DESTDIR=)
	@cmake --install build --prefix "$(or $(PREFIX),/usr/local)"

clean: ## remove build/
	rm -rf build

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' Makefile | expand -t 26
