# One image, both programs, from one commit: /fn, the function, is the entry
# point, because that is what kustomize and kpt start; the controller's
# Deployment names the other.

ARG BUILDER=docker.io/library/golang:1.26

# The compiler runs on the builder's own platform and cross-compiles.
FROM --platform=$BUILDPLATFORM ${BUILDER} AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG TARGETOS
ARG TARGETARCH
ARG VERSION=dev
RUN CGO_ENABLED=0 GOOS=${TARGETOS} GOARCH=${TARGETARCH} \
    go build -trimpath -pgo=controller/controller.pgo -ldflags "-s -w -X main.version=${VERSION}" -o /image/ ./fn ./controller

FROM scratch
# kustomize and kpt start the function with `--user nobody`, which fails in an
# image without a passwd file that names it.
COPY tools/release/rootfs/ /
COPY --from=build /image/ /
USER 65532:65532
ENTRYPOINT ["/fn"]
ARG VERSION=dev
ARG REVISION
ARG CREATED
LABEL org.opencontainers.image.title="markdown-view" \
      org.opencontainers.image.description="Turns a MarkdownView into the ConfigMaps, Deployment and Service that serve its pages with mdBook" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.source="https://github.com/zoetrope/markdown-view" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.created="${CREATED}"
