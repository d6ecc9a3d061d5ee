# One place for every command. `make demo` and `make test` set everything up from a bare clone.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
SEEDS ?= 20000
PROCESSES ?= 3
# Compiled tests are kept also where that variable is set: each process would compile all of them again.
unexport PYTHONDONTWRITEBYTECODE
CHECKS := tests/contracts/test_unused.py tests/contracts/test_house.py tests/contracts/test_tidy.py

# Tests run a query or two on each Spark: its second compiler would take half of the computing, and save nothing.
test test-others test-long conformance crash-sweep types: export JDK_JAVA_OPTIONS ?= -XX:TieredStopAtLevel=1

.PHONY: help setup demo test test-protocol test-others collect test-long check format bench conformance simulate mutants fuzz lock clean servers model pages crash-sweep damage soak kafka-million memory guarantees types black-holes docs prose page release

help: ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 16

$(STAMP): requirements.lock pyproject.toml tests/plugin_example/pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed; this is $$($(PYTHON) --version)"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@test -x $(BIN)/uv || $(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	@$(BIN)/uv pip sync --quiet --compile-bytecode --python $(BIN)/python --require-hashes requirements.lock
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --editable . --editable tests/plugin_example
	@# Where PYTHONDONTWRITEBYTECODE is set, every start would compile the packages again.
	@$(BIN)/python -m compileall -q seatunnel_py connectors plugins
	@touch $@

setup: $(STAMP) page ## install everything into .venv, and build the web page

page: $(STAMP) ## build the web page of the server, from page/
	@$(BIN)/python page/build.py

release: $(STAMP) page ## build wheel, sdist and SHA256SUMS into dist/; the wheel twice, which must be equal; SIGN=KEY of SSH
	@$(BIN)/python release/build.py $(if $(SIGN),--sign $(SIGN))

demo: $(STAMP) ## synchronise a small shop database; needs no server
	@$(BIN)/python configs/demo/make_shop.py demo
	@$(BIN)/seatunnel run configs/demo/shop.conf -i dir=demo
	@echo
	@echo "look next:"
	@echo "  $(BIN)/seatunnel plan configs/demo/shop.conf -i dir=demo     the work of a run in advance, and why"
	@echo "  $(BIN)/seatunnel preview configs/demo/shop.conf -i dir=demo  the first rows after every step"
	@echo "  $(BIN)/seatunnel jobs list                                   past and running jobs"
	@echo "  ls demo/parquet                                              the result"
	@echo "  configs/ and docs/guide.md                                   more jobs, the guide"

servers: $(STAMP) ## install the programs that the tests start: databases, Kafka, Redis, a model checker, a browser (as root)
	@$(BIN)/python -m tests.servers.install postgres mariadb kafka redis spin chromium

test: test-protocol test-others ## all tests, on real servers and a real Spark

test-protocol: $(STAMP) ## the tests of the protocol, which cover it wholly
	@$(BIN)/python -m pytest tests/protocol --cov=seatunnel_py.protocol --cov=tests.protocol.reference --cov-branch --cov-fail-under=100 --cov-report=term-missing:skip-covered

test-others: servers page ## all other tests; PROCESSES=3; TESTS="DIR ..."; WITHOUT="DIR ..."; ROTATION=2/3; CHECKED=1: without those of `make check`
	@# Each process has its own servers, and waits for these and for Spark: one more than there are cores keeps them busy.
	@$(BIN)/python -m pytest $(or $(TESTS),e2e tests) $(addprefix --ignore ,tests/protocol $(WITHOUT) $(if $(CHECKED),$(CHECKS))) -p tests.kit.spread $(if $(ROTATION),-p tests.kit.rotation --rotation $(ROTATION)) -n $(PROCESSES) --durations=25

collect: $(STAMP) ## rewrite the assertions of all tests once, and keep them; each process of `make test` would do it again
	@$(BIN)/python -m pytest e2e tests --ignore tests/protocol --collect-only -qq >/dev/null

test-long: servers page ## the further cases of long tests, which `make test` leaves out; PROCESSES=3
	@$(BIN)/python -m pytest e2e tests -m long -p tests.kit.spread -n $(PROCESSES) --durations=25

check: $(STAMP) ## lint, format, types, layers, unused code, documentation
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-cache
	@$(BIN)/python -m pytest $(CHECKS)
	@$(BIN)/python page/build.py check
	@$(MAKE) --no-print-directory docs

docs: $(STAMP) ## build the documentation site into .site, strictly; check every link and anchor
	@# The warning is about MkDocs 2, which requirements.lock does not let in.
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet
	@$(BIN)/python -m tests.docs.site.check .site

format: $(STAMP) ## format the code
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

conformance: servers ## run SeaTunnel's own job files: make conformance DIR=../shared/conformance
	@$(BIN)/python -m e2e.conformance $(DIR)

model: $(STAMP) ## explore the protocol: the Promela model with spin (installed as root)
	@$(BIN)/python -m tests.servers.install spin
	@$(BIN)/python -m tests.model.check
	@$(BIN)/python -m tests.model.explore

simulate: $(STAMP) ## the job in a simulated world: SEEDS aligned and as many unaligned ones (20,000)
	@$(BIN)/python -m tests.simulation --seeds $(SEEDS) --jobs 2

mutants: $(STAMP) ## deliberate bugs in the protocol and round it, and which checker or test notices each
	@$(BIN)/python -m tests.mutants

crash-sweep: servers ## kill -9 of everything at every failpoint; SHORT=1: each once; JOBS=2; JOURNAL=FILE: resumes from there
	@$(BIN)/python -m e2e.crash_sweep$(if $(PEER),.peer $(if $(OURS),--ours $(OURS))) $(if $(SHORT),--short) $(if $(JOBS),--jobs $(JOBS)) $(if $(JOURNAL),--journal $(JOURNAL))
	@$(if $(PEER),,$(BIN)/python -m e2e.cdc_sweep $(if $(SHORT),--short) $(if $(JOBS),--jobs $(JOBS)) $(if $(JOURNAL),--journal $(basename $(JOURNAL))-cdc.jsonl))
	@$(if $(SHORT),$(if $(PEER),,$(BIN)/python -m e2e.cdc_sweep.seeds --short $(if $(JOBS),--jobs $(JOBS))))

damage: servers ## damage the stored state of killed jobs, 20,000 times, and restore: refused or exact; COUNT= JOURNAL=FILE: resumes
	@$(BIN)/python -m e2e.damage $(if $(COUNT),--count $(COUNT)) $(if $(JOURNAL),--journal $(JOURNAL))

soak: servers ## half an hour of random kills on a cluster: rows, memory, leftovers; MINUTES=30 SEED=
	@$(BIN)/python -m e2e.soak $(if $(MINUTES),--minutes $(MINUTES)) $(if $(SEED),--seed $(SEED))

kafka-million: servers ## a million records Kafka to PostgreSQL and back, ten kills each way: exact?; ROWS=1000000
	@$(BIN)/python -m e2e.kafka_million $(if $(ROWS),--rows $(ROWS))

memory: servers ## rows of hundreds of MB, a table of a GB, 10,000 columns, 20,000 splits: bounded or refused?
	@SEATUNNEL_HEAVY=1 $(BIN)/python -m pytest -q e2e/test_memory.py

guarantees: servers ## test the declarations of connectors, and write docs/guarantees.md from them
	@SEATUNNEL_WRITE_PAGES=1 $(BIN)/python -m pytest -q tests/connectors/conformance

pages: $(STAMP) ## regenerate the generated pages of docs/
	@$(BIN)/python -m tests.docs.pages

black-holes: servers ## connections to databases, Kafka and a checkpoint store that drop everything for 60 s and for 600 s; SECONDS=
	@for seconds in $(or $(SECONDS),60 600); do SEATUNNEL_HOLE_SECONDS=$$seconds $(BIN)/python -m pytest -q e2e/test_black_hole.py e2e/test_kafka_black_hole.py e2e/test_shared_store.py -k "silent or hole or hangs" || exit 1; done

prose: $(STAMP) ## print random sentences of docs, docstrings and messages, for review: SEED=1 COUNT=20
	@$(BIN)/python -m tests.contracts.prose $(if $(SEED),--seed $(SEED)) $(if $(COUNT),--count $(COUNT))

types: servers ## random values of every type through every pair of source and sink and back: equal, named or refused? VALUES=200000
	@$(BIN)/python -m tests.round_trips $(if $(VALUES),--values $(VALUES))
	@$(BIN)/python -m tests.round_trips --log $(if $(VALUES),--values $(VALUES))

fuzz: $(STAMP) ## 100,000 mutated job files, 500,000 mutated logs of PostgreSQL and MariaDB: a typed error, or what is right
	@$(BIN)/python -m tests.fuzz.mutate_job_files --count 100000
	@$(BIN)/python -m tests.fuzz.mutate_replication --count 250000
	@$(BIN)/python -m tests.fuzz.mutate_binlog --count 250000

bench: servers ## every benchmark, each printing its ratio
	@$(BIN)/python -m bench

lock: $(STAMP) ## resolve the dependencies again, pinned by hash
	@$(BIN)/uv pip compile pyproject.toml --all-extras --group dev --generate-hashes --no-emit-index-url --no-header --python-version 3.11 --output-file requirements.lock --quiet

clean: ## remove what the commands above made
	@rm -rf $(VENV) .cache .site demo .seatunnel .mypy_cache .ruff_cache
