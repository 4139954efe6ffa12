# The front door; CMake does the work. `make help` lists what there is.
.PHONY: all demo test test-long test-sanitizers test-emulated test-engines bench bench-eval bench-engines lint install clean help

all: ## install what is missing and build build/ease
	@scripts/setup build
	@cmake --preset release >/dev/null
	@cmake --build build

demo: all ## train on the embedded example and recommend, with reasons
	@examples/demo.sh build/ease

test: ## install what is missing, build, and run the tests (minutes)
	@scripts/setup test
	@scripts/test release

test-long: ## the rest: Python module, memory, engines, other kernels, real data
	@scripts/setup test
	@scripts/test long

test-sanitizers: ## with sanitizers: ASan, UBSan, fuzzers, TSan
	@scripts/setup test
	@scripts/test asan-ubsan tsan

test-emulated: all ## the C tests on processors that are not here, by qemu (minutes)
	@scripts/setup emulated
	@scripts/test-emulated

test-engines: all ## Gram matrices by a local Spark against the native ones (minutes)
	@scripts/setup engines
	@/usr/bin/python3 tests/spark_engine.py

bench: all ## beside what people use now, into docs/performance.md (an hour)
	@scripts/setup bench
	@bench/bench.py

bench-eval: all ## users a second of eval against NumPy, at gowalla's size (minutes)
	@scripts/setup test
	@bench/eval.py

bench-engines: all ## X'X by DuckDB, PostgreSQL and Spark beside the native one (minutes)
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
