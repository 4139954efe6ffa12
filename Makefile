# The front door; CMake does the work. `make help` lists what there is.
.PHONY: all demo test test-long test-sanitizers test-emulated test-engines bench bench-eval bench-engines lint install clean help

all: ## install missing packages and build build/ease
	@scripts/setup build
	@cmake --preset release >/dev/null
	@cmake --build build

demo: all ## train on the embedded example and recommend, with reasons
	@examples/demo.sh build/ease

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

lint: ## formatting, the order of folders, warnings of both compilers, clang-tidy
	@scripts/setup test
	@scripts/lint

install: all ## install program, library, header, manual (PREFIX=/usr/local, DESTDIR=)
	@cmake --install build --prefix "$(or $(PREFIX),/usr/local)"

clean: ## remove build/
	rm -rf build

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' Makefile | expand -t 26
