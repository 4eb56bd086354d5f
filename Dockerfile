FROM golang:1.26.8-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -ldflags='-s -w' -o /sokone ./cmd/sokone && mkdir -m 0700 /empty

FROM gcr.io/distroless/static-debian12:nonroot
COPY --from=build /sokone /sokone
# The volume belongs to the user that runs, so that a fresh one can be written.
COPY --from=build --chown=nonroot:nonroot /empty /data
ENV SOKONE_DATA=/data
VOLUME /data
EXPOSE 8080
HEALTHCHECK --interval=30s --timeout=6s --start-period=10s CMD ["/sokone", "healthcheck"]
ENTRYPOINT ["/sokone"]
CMD ["serve"]
