# The course in two images:
#   docker build --target learner    -t advantagelab:learner .       JupyterLab on the lessons
#   docker build --target instructor -t advantagelab:instructor .    nbgrader's formgrader, and the grader
# `make image` builds both; the README says how to run them. Written for amd64 and arm64; built and tried on amd64 only,
# with Python 3.11 on Debian 12. Every package that is installed by default has a wheel for both: nothing is compiled.
#
# Build arguments, mirrors among them: BASE, another Python (3.11 to 3.13), or python:3.11-slim-bookworm from elsewhere;
# ENVIRONMENT=pt-cpu, TRL too, for the optional conformance cells; PIP_INDEX_URL; TORCH_INDEX, an index of CPU wheels, or TORCH_FIND_LINKS,
# a page of them; DEBIAN_MIRROR, such as https://mirrors.aliyun.com, in place of http://deb.debian.org.
ARG BASE=docker.io/library/python:3.11-slim-bookworm

# What both need. Nobody but root writes to it. An answer to "where is torch's CPU build?" is install.py's, as in `make env`.
FROM ${BASE} AS base
ARG PIP_INDEX_URL
ARG TORCH_INDEX
ARG TORCH_FIND_LINKS
ARG ENVIRONMENT=base-cpu
ENV PATH=/lab/.venv/bin:$PATH LANG=C.UTF-8 OMP_NUM_THREADS=1 PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
WORKDIR /lab
COPY environments/install.py environments/${ENVIRONMENT}.lock.txt environments/
# Left out: tests of packages, and of torch what compiles C++. Compiled Python stays: without it each kernel would compile torch anew.
RUN python -m venv .venv \
 && cd environments \
 && python -B -c "from install import *; install_torch(Path('/lab/.venv/bin/python'), HERE / '${ENVIRONMENT}.lock.txt')" \
 && pip install --quiet -r ${ENVIRONMENT}.lock.txt \
 && cd /lab/.venv/lib/python3*/site-packages \
 && rm -rf torch/test torch/include \
 && find torch/bin -type f ! -name torch_shm_manager -delete \
 && find . -type d -name tests -prune -exec rm -rf {} +
COPY environments/serve.py environments/
COPY LICENSE LICENSE-CC-BY-4.0.txt ./
EXPOSE 8888
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s \
  CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8888/api', timeout=4)"]

# The notebooks carry what they import: neither solutions nor hidden checks are here. Answers and progress are in my-work, the mounted
# folder; Jupyter's own files are not, since not every mounted folder takes their permissions.
FROM base AS learner
RUN useradd --uid 1000 --gid 0 --create-home learner && chmod 1777 /home/learner && install -d -o learner -g 0 -m 0775 my-work
ENV HOME=/home/learner JUPYTER_DATA_DIR=/home/learner/.jupyter XDG_DATA_HOME=/lab/my-work/.course
COPY environments/open_lab.py environments/
COPY notebooks notebooks
USER learner
CMD ["python", "environments/serve.py", "learner"]

# The home folder, with the checks and the class in it, is closed: a student's code, which runs as a nameless user, gets no further than
# /lab. The server's user is in group 0, and so is whoever `docker run --user UID` names.
FROM base AS instructor
ARG DEBIAN_MIRROR
ARG PIP_INDEX_URL
RUN sed -i "s|http://deb.debian.org|${DEBIAN_MIRROR:-http://deb.debian.org}|" $(find /etc/apt -name '*.sources' -o -name sources.list) \
 && apt-get update -qq && apt-get install -y -qq --no-install-recommends bubblewrap && rm -rf /var/lib/apt/lists/*
COPY environments/grader.lock.txt environments/
RUN pip install --quiet -r environments/grader.lock.txt && find .venv/lib -type d -name tests -prune -exec rm -rf {} +
RUN useradd --uid 1000 --gid 0 --create-home instructor && chmod 0770 /home/instructor \
 && install -d -o instructor -g 0 -m 0770 /home/instructor/course
ENV HOME=/home/instructor PYTHONPATH=/home/instructor/advantagelab
WORKDIR /home/instructor/advantagelab
COPY environments/autograder.sh /usr/local/bin/autograder
COPY pyproject.toml README.md LICENSE ./
COPY docs docs
COPY environments environments
COPY advantagelab advantagelab
COPY lessons lessons
COPY autograder autograder
WORKDIR /home/instructor/course
USER instructor
CMD ["python", "/lab/environments/serve.py", "instructor"]
