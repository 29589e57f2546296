# The image of the daemon: docker build -t volcano-py:0.1.0 .
# A release has its base by digest: make image. Another base: --build-arg PYTHON_IMAGE=…
ARG PYTHON_IMAGE=python:3.13.9-slim-trixie

# Stage 1: the project as a wheel, installed with its dependencies into a virtual environment. Nothing is compiled:
# every dependency, the extra `cel` among them, comes as a wheel, so the base needs no compiler. The lock files give
# versions and hashes (`make lock`); pip refuses every file with another hash, and everything that they do not name.
FROM ${PYTHON_IMAGE} AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1
WORKDIR /src
RUN python -m venv --without-pip /opt/volcano-py
COPY requirements.lock requirements-build.lock ./
RUN pip install --no-cache-dir --only-binary=:all: --require-hashes --requirement requirements-build.lock \
 && pip --python /opt/volcano-py/bin/python install --no-cache-dir --only-binary=:all: --require-hashes \
    --requirement requirements.lock
COPY pyproject.toml README.md LICENSE ./
COPY charts charts
COPY crds crds
COPY examples examples
COPY manifests manifests
COPY volcano_py volcano_py
RUN pip wheel --no-cache-dir --no-deps --no-build-isolation --wheel-dir /wheels . \
 && pip --python /opt/volcano-py/bin/python install --no-cache-dir --only-binary=:all: --no-deps /wheels/*.whl

# Stage 2: the virtual environment alone, at the same path, owned by root and so unchangeable for the daemon.
FROM ${PYTHON_IMAGE}
LABEL org.opencontainers.image.title="volcano-py" \
      org.opencontainers.image.description="A batch scheduler for Kubernetes, drop-in for the Volcano scheduler" \
      org.opencontainers.image.licenses="Apache-2.0"
# The account has a name, because libraries look the name of the current user up and fail without one.
RUN groupadd --gid 65532 volcano \
 && useradd --uid 65532 --gid 65532 --no-create-home --home-dir /tmp --shell /usr/sbin/nologin volcano
COPY --from=build /opt/volcano-py /opt/volcano-py
# No bytecode is written at run time: the root file system is read-only, and pip has compiled everything.
ENV PATH=/opt/volcano-py/bin:$PATH \
    HOME=/tmp \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1
# In numbers, so that Kubernetes can tell it is not root (runAsNonRoot).
USER 65532:65532
EXPOSE 8080
ENTRYPOINT ["volcano-py"]
CMD ["run"]
