# The sidecar alone: Caddy runs beside it, from its own image or on the host.
FROM node:26-bookworm-slim AS build
WORKDIR /src
COPY package.json package-lock.json ./
# The image brings Node itself, so the `node` package need not fetch another one.
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY tsconfig.json tsconfig.build.json ./
COPY src src
RUN npm run build && npm prune --omit=dev --ignore-scripts --no-audit --no-fund

FROM node:26-bookworm-slim
WORKDIR /app
COPY --from=build /src/node_modules node_modules
COPY --from=build /src/dist dist
COPY package.json ./
COPY bin bin
COPY policies policies
# Where the proxy's container finds the socket, and what outlives this one.
RUN mkdir -p /run/crawlwall /data /policies && chown node:node /run/crawlwall /data
VOLUME ["/run/crawlwall", "/data"]
ENV CRAWLWALL_LISTEN=unix:/run/crawlwall/crawlwall.sock \
    CRAWLWALL_DATA_DIR=/data \
    CRAWLWALL_TRUST_REQUEST_ID=true \
    NODE_COMPILE_CACHE=/data/node-cache
USER node
HEALTHCHECK --interval=10s --timeout=5s --start-period=15s \
    CMD ["node", "/app/bin/crawlwall.js", "healthcheck"]
ENTRYPOINT ["node", "/app/bin/crawlwall.js"]
CMD ["serve"]
