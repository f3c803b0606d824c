# Every command sets up what it needs: as root or with sudo it installs missing Debian packages, otherwise it says which.

SWIFT ?= swift
# In CI a warning is an error.
ifdef CI
FLAGS := -Xswiftc -warnings-as-errors
endif
# swift-format goes past symbolic links, and past folders like .build.
SOURCES := Package.swift Sources Tests
# The tests of logic, which take seconds, all at once; then the others one after the other, because some have short time-outs, which a
# busy machine would let expire.
LOGIC := '^LogicTests\.'
run-tests = $(SWIFT) test $(FLAGS) $(1) --filter $(LOGIC) && $(SWIFT) test $(FLAGS) $(1) --skip-build --no-parallel --skip $(LOGIC)
# The toolchain's own DocC, beside its compiler.
DOCC = $(dir $(shell readlink -f $$(command -v $(SWIFT))))docc

.PHONY: help demo test test-loops test-tsan test-asan soak storm websocket-storm stream-storm test-curl-backports test-curl-newest test-deployment measure-deployment measure-build lint format \
	bench cost parity fuzz faults load sbom docs setup-build setup-test setup-deployment clean

## Lists the targets.
help:
	@awk '/^## / { text = substr($$0, 4) } /^[a-z-]+:/ && text { printf "make %-22s %s\n", substr($$1, 1, length($$1) - 1), text; text = "" }' \
		$(MAKEFILE_LIST)

## The main job, end to end: search, download, pause, resume in another process, cancel, survive a kill, verify.
demo: setup-build
	$(SWIFT) run $(FLAGS) halftunes demo

## Runs all tests: those of logic in parallel, the others one by one, and a check of what a request costs.
test: setup-test
	$(call run-tests)
	$(MAKE) cost

## The tests of behaviour with four event loops for each session.
test-loops: setup-test
	CURLNETWORKING_EVENT_LOOPS=4 $(SWIFT) test $(FLAGS) --no-parallel --filter BehaviourTests

## The tests under the thread sanitizer.
test-tsan: setup-test
	export TSAN_OPTIONS="suppressions=$(CURDIR)/Tests/Sanitizers/thread.supp $(TSAN_OPTIONS)"; \
		$(call run-tests,--sanitize=thread --scratch-path .build/tsan)

## The tests under the address sanitizer.
# Leaks are looked for by tests of their own: the leak checker doesn't see what Swift's tagged pointers hold, and some tests exit
# amid transfers. Memory is measured: freed blocks must not be kept back for long.
test-asan: setup-test
	export ASAN_OPTIONS="suppressions=$(CURDIR)/Tests/Sanitizers/address.supp:detect_leaks=0:quarantine_size_mb=1:thread_local_quarantine_size_kb=64:$(ASAN_OPTIONS)"; \
		$(call run-tests,--sanitize=address --scratch-path .build/asan)

## Background transfers whose programs, agents and connections are killed 200 times: STORM=1000 for more.
STORM ?= 200
storm: setup-test
	CURLNETWORKING_STORM=$(STORM) $(SWIFT) test $(FLAGS) --no-parallel --filter StormTests

## 10,000 web sockets opened, used and ended at random moments, and floods of a gigabyte: WEBSOCKET_STORM=100000 for more.
WEBSOCKET_STORM ?= 10000
websocket-storm: setup-test
	WEBSOCKET_STORM=$(WEBSOCKET_STORM) WEBSOCKET_FLOOD=1024 \
		$(SWIFT) test $(FLAGS) --no-parallel --filter 'WebSocketStormTests|WebSocketMemoryTests'

## 10,000 stream tasks opened, used and ended at random moments, and a gigabyte read: STREAM_STORM=100000 for more.
STREAM_STORM ?= 10000
stream-storm: setup-test
	STREAM_STORM=$(STREAM_STORM) STREAM_BYTES=1073741824 $(SWIFT) test $(FLAGS) --no-parallel --filter StreamStormTests

## 10 GB read at 1 MB/s in flat memory, for three hours: SOAK="--megabytes 1000 --rate 10" and the like.
soak: setup-build
	$(SWIFT) build $(FLAGS) --product soak
	$(SWIFT) run --skip-build soak $(SOAK)

## Fuzzes everything that reads untrusted bytes: FUZZ="-t 60 set-cookie names" and the like.
fuzz: setup-build
	.ci/fuzz $(FUZZ)

## Makes each system call that may fail do so, once: FAULTS="descriptors curl-memory" and FAULTS_STRIDE=10 for a part.
FAULTS ?= all
FAULTS_STRIDE ?= 1
faults: setup-test
	CURLNETWORKING_FAULTS="$(FAULTS)" CURLNETWORKING_FAULTS_STRIDE=$(FAULTS_STRIDE) \
		$(SWIFT) test $(FLAGS) --no-parallel --filter SystemFaultTests

## 20,000 connections, a million requests, a thousand sessions, 50,000 waiting tasks: prints a table. LOAD="connections" and the like.
load: setup-test
	$(SWIFT) build $(FLAGS) -c release --product load
	$(SWIFT) run -c release --skip-build load $(LOAD)

## Writes what the products consist of and load on this machine, in SPDX, to .build/sbom.spdx.json.
sbom: setup-build
	@.ci/install jq
	mkdir -p .build
	.ci/sbom .build/sbom.spdx.json

## The tests with the libcurl of Debian's backports: TEST="--filter Redirect" and the like.
test-curl-backports: setup-test
	.ci/test-curl backports $(TEST)

## The tests with the newest libcurl, built from Debian's sources: TEST as above.
test-curl-newest: setup-test
	@.ci/install gcc make libc6-dev xz-utils zlib1g-dev libssl-dev libkrb5-dev libnghttp2-dev libbrotli-dev libzstd-dev libidn2-dev \
		libpsl-dev
	.ci/test-curl newest $(TEST)

## Tests release builds in bare Debian roots with only what the documentation names. For root.
test-deployment: setup-deployment
	Tests/Deployment/test

## Measures a program's size and start-up time against the stock module's.
measure-deployment: setup-test
	Tests/Deployment/measure

## Measures a clean release build of a program with one request.
measure-build: setup-build
	@.ci/install time binutils
	Tests/Deployment/measure-build

## Checks layout (swift-format), which folders use which (Sources/CurlNetworking/arrows.txt), the sizes of types, and more.
lint:
	$(SWIFT) format lint --strict --recursive $(SOURCES)
	.ci/arrows
	.ci/sizes
	.ci/stock-cookies
	.ci/borders

## Fixes what lint can fix automatically.
format:
	$(SWIFT) format format --in-place --recursive $(SOURCES)
	.ci/arrows --picture >Sources/CurlNetworking/CurlNetworking.docc/Folders.svg

## CPU per request beside raw libcurl and the stock module: BENCH="--quick --filter get" and the like.
bench: setup-test
	@.ci/install zlib1g-dev
	$(SWIFT) build -c release --package-path Tests/Benchmarks
	$(SWIFT) run -c release --skip-build --package-path Tests/Benchmarks bench $(BENCH)

## Checks that a request costs no more instructions or allocations than recorded (Tests/Benchmarks/cost.json).
cost: setup-test
	$(SWIFT) build -c release --package-path Tests/Benchmarks --product bench-ours
	Tests/Benchmarks/check-cost $(COST)

## Runs the same programs on both transports, and writes Tests/Parity/Parity.md.
parity: setup-build
	$(SWIFT) build $(FLAGS) --product urlsession-parity
	$(SWIFT) run $(FLAGS) urlsession-parity --markdown > .build/Parity.md
	mv .build/Parity.md Tests/Parity/Parity.md

## Builds the documentation, as a website in .build/docs.
docs: setup-build
	$(SWIFT) build --scratch-path .build/docs-build --target CurlNetworking
	rm -rf .build/symbol-graphs && mkdir -p .build/symbol-graphs
	$(SWIFT) symbolgraph-extract -module-name CurlNetworking -minimum-access-level public \
		-target $(shell uname -m)-unknown-linux-gnu -I .build/docs-build/debug/Modules \
		$(foreach module,CCurlNetworkingLibcurl CCurlNetworkingLinux,-Xcc -fmodule-map-file=Modules/$(module)/module.modulemap) \
		-output-dir .build/symbol-graphs
	$(DOCC) convert Sources/CurlNetworking/CurlNetworking.docc --additional-symbol-graph-dir .build/symbol-graphs \
		--fallback-display-name CurlNetworking --fallback-bundle-identifier CurlNetworking \
		--warnings-as-errors --output-path .build/docs

setup-build:
	@.ci/install libcurl4-openssl-dev pkg-config

setup-test:
	@.ci/install libcurl4-openssl-dev pkg-config nginx-light openssl vsftpd squid-openssl dante-server microsocks \
		python3-websockets python3-aiohttp python3-aiosmtpd redis-server valgrind jq \
		krb5-kdc krb5-admin-server krb5-user python3-gssapi

setup-deployment: setup-test
	@.ci/install debootstrap iproute2

## Removes build products.
clean:
	rm -rf .build Tests/Benchmarks/.build Tests/Fuzz/.build
