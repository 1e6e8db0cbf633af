# make lab    set up and open JupyterLab on the course        make test   set up and run the tests
# Variables: PYTHON (3.11 to 3.13), ENV (base-cpu or pt-cpu, for make env), ONLY (one benchmark, for make bench).
PYTHON ?= python3
ENV ?= base-cpu
ONLY ?=
RUN = .venv/bin/python
export OMP_NUM_THREADS ?= 1

.DEFAULT_GOAL := help
.PHONY: help env lab test test-all bench notebooks grade-demo conformance conformance-all matrix locks image image-test dev

help:
	@sed -n '1,2s/^# //p' Makefile
	@echo "also: env · test-all · bench · notebooks · grade-demo · conformance (the TRL tests alone) · conformance-all (every version of TRL) · matrix · locks · image · image-test"

env:
	@$(PYTHON) environments/install.py $(ENV)

# Learners work on copies in my-work/, which nothing overwrites: an answer is never lost to a rebuild or a git pull.
lab: env
	@$(PYTHON) environments/open_lab.py

dev:
	@$(PYTHON) environments/install.py dev

# A worker more than cores, since many tests wait for a kernel, a browser or a grader. A file stays with one worker, for its dear fixtures;
# in the order of their names, so that long files are not left for the end.
test: dev
	@$(PYTHON) environments/install.py colab-like .venv-colab
	$(RUN) -m pytest -n $(shell $(RUN) -c "import os; print(os.cpu_count() + 1)") --dist loadfile --no-loadscope-reorder

# The tests, whole where they otherwise try a part (every listed answer of every lesson through the judge, fifty runs killed at random, every
# attack in every isolation, whole training runs in the notebooks, every state of every widget), and a made-up class that is graded.
test-all:
	ALL=1 $(MAKE) test grade-demo

bench: dev
	$(RUN) -m tests.bench $(ONLY)

notebooks: dev
	$(RUN) -m lessons build --run

grade-demo: dev
	$(RUN) -m autograder demo

conformance: dev
	$(RUN) -m pytest tests/test_conformance*.py tests/test_trainers.py

# Every version of TRL around the supported range; writes docs/conformance.md.
conformance-all: dev
	$(RUN) environments/trl_versions.py

# Every notebook under other versions of Python and torch; writes docs/environments.md.
matrix: dev
	$(RUN) -m environments.matrix

locks:
	$(PYTHON) environments/lock.py

# Docker or podman, whichever answers; the Dockerfile's head says what the build arguments are, and they are taken from the environment.
ENGINE ?= $(firstword $(foreach engine,docker podman,$(shell $(engine) info >/dev/null 2>&1 && echo $(engine))))
BUILD_ARGUMENTS = BASE ENVIRONMENT PIP_INDEX_URL TORCH_INDEX TORCH_FIND_LINKS DEBIAN_MIRROR

image:
	@test -n "$(ENGINE)" || { echo "no image: neither docker nor podman answers here | 无法构建镜像：docker 与 podman 都没有响应"; exit 1; }
	$(ENGINE) build --target learner -t advantagelab:learner $(BUILD_ARGUMENTS:%=--build-arg %) .
	$(ENGINE) build --target instructor -t advantagelab:instructor $(BUILD_ARGUMENTS:%=--build-arg %) .

image-test: image
	$(PYTHON) tests/try_image.py $(ENGINE)
