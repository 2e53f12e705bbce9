# The image of `make image`, built by an engine:
# `docker build --build-arg SOURCE_DATE_EPOCH=$(git log -1 --format=%ct) --build-arg OARLOCK_COMMIT=$(git rev-parse HEAD) -t oarlock .`
# The files are the same; the engine decides about their layers.
FROM rust:1.95-bookworm AS build
# The compiler's libraries are in it; beside them: what packs the image, and Debian's copy of Mozilla's roots.
RUN apt-get update && apt-get install -y --no-install-recommends python3 ca-certificates && rm -rf /var/lib/apt/lists/*
WORKDIR /oarlock
COPY . .
ARG SOURCE_DATE_EPOCH=0
ARG OARLOCK_COMMIT
# The recorded load of a release, for its own program: a file beside this one.
ARG OARLOCK_PROFILE
RUN scripts/image.sh --root /image

FROM scratch
COPY --from=build /image/ /
USER 65532:65532
ENV PATH=/usr/local/bin
EXPOSE 9443 9797
ENTRYPOINT ["/usr/local/bin/oarlock"]
