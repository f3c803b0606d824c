# Every command sets up what it needs: as root or with sudo it installs missing Debian packages, otherwise it says which.

SWIFT ?= swift
# In CI a warning is an error.
ifdef CI
FLAGS := -Xswiftc -warnings-as-errors
endif
SOURCES := Package.swift Sources Tests/TestSupport Tests/TestHelper Tests/ForkHelper Tests/LogicTests Tests/BehaviourTests \
	Tests/CrashTests Tests/Soak Tests/ParityTests Tests/URLProtocolTests Tests/ExampleTests Tests/Examples Tests/ImportShapes \
	Tests/Benchmarks/Package.swift Tests/Benchmarks/Plugins Tests/Benchmarks/Sources \
	Tests/Deployment/Package.swift Tests/Deployment/Sources
# The toolchain's own DocC, beside its compiler.
DOCC = $(dir $(shell readlink -f $$(command -v $(SWIFT))))docc

.PHONY: demo test lint format bench soak parity docs test-loops test-tsan test-asan test-curl-backports test-deployment measure-deployment \
	setup-build setup-test setup-deployment clean

## The main job: search, download, pause, resume in another process, cancel, check.
demo: setup-build
	$(SWIFT) run $(FLAGS) halftunes demo

## All tests, one after the other: some have short time-outs, which a busy machine would let expire.
test: setup-test
	$(SWIFT) test $(FLAGS) --no-parallel

## The same with four event loops for each of the tests' sessions.
test-loops: setup-test
	CURLNETWORKING_EVENT_LOOPS=4 $(SWIFT) test $(FLAGS) --no-parallel --filter BehaviourTests

## The tests under the thread sanitizer and the address sanitizer.
test-tsan: setup-test
	TSAN_OPTIONS="suppressions=$(CURDIR)/Tests/Sanitizers/thread.supp $(TSAN_OPTIONS)" $(SWIFT) test $(FLAGS) --no-parallel --sanitize=thread --scratch-path .build/tsan
# Leaks are looked for by tests of their own: the leak checker doesn't see what Swift's tagged pointers hold, and some tests exit
# amid transfers. Memory is measured: freed blocks must not be kept back for long.
test-asan: setup-test
	ASAN_OPTIONS="suppressions=$(CURDIR)/Tests/Sanitizers/address.supp:detect_leaks=0:quarantine_size_mb=1:thread_local_quarantine_size_kb=64:$(ASAN_OPTIONS)" $(SWIFT) test $(FLAGS) --no-parallel --sanitize=address --scratch-path .build/asan

## Reads 10 GB at 1 MB/s and checks that memory stays flat: nearly three hours. SOAK="--megabytes 1000 --rate 10" and the like.
soak: setup-build
	$(SWIFT) build $(FLAGS) --product soak
	$(SWIFT) run --skip-build soak $(SOAK)

## The tests with the libcurl of Debian's backports, which is fetched into a folder of .build: TEST="--filter Redirect" and the like.
test-curl-backports: setup-test
	.ci/test-curl-backports $(TEST)

## Release builds, dynamic and static, in bare Debian roots with nothing but what the documentation names. For root.
test-deployment: setup-deployment
	Tests/Deployment/test

## What a program weighs and what its start takes, beside the same with the stock module.
measure-deployment: setup-test
	Tests/Deployment/measure

## swift-format's strict lint; `make format` mends what it can.
lint:
	$(SWIFT) format lint --strict --recursive $(wildcard $(SOURCES))
format:
	$(SWIFT) format format --in-place --recursive $(wildcard $(SOURCES))

## CPU per request beside raw libcurl and the stock module, on the same bytes: BENCH="--quick --filter get" and the like.
bench: setup-test
	$(SWIFT) build -c release --package-path Tests/Benchmarks
	$(SWIFT) run -c release --skip-build --package-path Tests/Benchmarks bench $(BENCH)

## The documentation's page on how the same programs fare on both transports. `swift run urlsession-parity --help` says more.
parity: setup-build
	$(SWIFT) build $(FLAGS) --product urlsession-parity
	$(SWIFT) run $(FLAGS) urlsession-parity --markdown > .build/Parity.md
	mv .build/Parity.md Sources/CurlNetworking/CurlNetworking.docc/Parity.md

## The documentation, as a web site in .build/docs.
docs: setup-build
	$(SWIFT) build --scratch-path .build/docs-build --target CurlNetworking
	rm -rf .build/symbol-graphs && mkdir -p .build/symbol-graphs
	$(SWIFT) symbolgraph-extract -module-name CurlNetworking -minimum-access-level public \
		-target $(shell uname -m)-unknown-linux-gnu -I .build/docs-build/debug/Modules \
		$(foreach module,CLibcurl CLinux,-Xcc -fmodule-map-file=Modules/$(module)/module.modulemap) \
		-output-dir .build/symbol-graphs
	$(DOCC) convert Sources/CurlNetworking/CurlNetworking.docc --additional-symbol-graph-dir .build/symbol-graphs \
		--fallback-display-name CurlNetworking --fallback-bundle-identifier CurlNetworking \
		--warnings-as-errors --output-path .build/docs

setup-build:
	@.ci/install libcurl4-openssl-dev pkg-config

setup-test:
	@.ci/install libcurl4-openssl-dev pkg-config nginx-light openssl vsftpd squid-openssl dante-server microsocks

setup-deployment: setup-test
	@.ci/install debootstrap iproute2

clean:
	rm -rf .build Tests/Benchmarks/.build
