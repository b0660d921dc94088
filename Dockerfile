# syntax=docker/dockerfile:1
# One target per part: docker build --target catalog . — and so on for checkout, billing, refunds, webhooks, gateway,
# sandbox, migrate and cli. docker-compose.yml builds them all.

# The base of every image: an exact tag. --build-arg NODE_IMAGE=node:24.21.0-bookworm-slim@sha256:… pins it by digest, or names a mirror.
ARG NODE_IMAGE=node:24.21.0-bookworm-slim
FROM ${NODE_IMAGE} AS base
WORKDIR /eligo

# What package-lock.json names, before any code: this layer changes only with the dependencies.
FROM base AS manifests
COPY package.json package-lock.json .npmrc ./
COPY proto/package.json proto/
COPY packages/contract/package.json packages/contract/
COPY packages/events/package.json packages/events/
COPY packages/failures/package.json packages/failures/
COPY packages/ledger/package.json packages/ledger/
COPY packages/mail/package.json packages/mail/
COPY packages/pdf/package.json packages/pdf/
COPY packages/ports/package.json packages/ports/
COPY packages/postgres/package.json packages/postgres/
COPY packages/processes/package.json packages/processes/
COPY packages/processor/package.json packages/processor/
COPY packages/rpc/package.json packages/rpc/
COPY packages/service/package.json packages/service/
COPY packages/values/package.json packages/values/
COPY services/billing/package.json services/billing/
COPY services/catalog/package.json services/catalog/
COPY services/checkout/package.json services/checkout/
COPY services/refunds/package.json services/refunds/
COPY services/webhooks/package.json services/webhooks/
COPY gateway/package.json gateway/
COPY sandbox/package.json sandbox/
COPY stack/package.json stack/
COPY web/checkout/package.json web/checkout/
COPY testkit/package.json testkit/
COPY cli/package.json cli/
COPY e2e/package.json e2e/
COPY bench/package.json bench/

# The development tools of proto/, of the checkout page and of the programs, which stay behind.
FROM manifests AS tools
RUN npm ci --workspace=proto --workspace=web/checkout --workspace=packages/processes

FROM tools AS generated
COPY proto/ proto/
RUN cd proto && PATH="../node_modules/.bin:$PATH" buf generate

FROM tools AS page
COPY web/checkout/ web/checkout/
RUN cd web/checkout && node node_modules/vite/bin/vite.js build

# What runs: no development tools, no embedded Postgres, no second Node.
FROM manifests AS packages
RUN npm ci --omit=dev --omit=optional

# The code with its packages.
FROM packages AS sources
COPY --from=generated /eligo/proto/gen/ proto/gen/
COPY web/checkout/src/document.ts web/checkout/src/ways-to-pay.ts web/checkout/src/
COPY packages/ packages/
COPY services/ services/
COPY gateway/ gateway/
COPY sandbox/ sandbox/
COPY stack/ stack/
COPY cli/ cli/

# Each program in a few large files, which start in a third of the processor time.
FROM sources AS programs
COPY --from=tools /eligo/node_modules/esbuild/ node_modules/esbuild/
COPY --from=tools /eligo/node_modules/@esbuild/ node_modules/@esbuild/
COPY scripts/bootstrap/ scripts/bootstrap/
COPY tsconfig.json ./
RUN node scripts/bootstrap/build-programs-main.mjs

FROM sources AS runtime
ENV NODE_ENV=production
COPY --from=programs /eligo/dist/ dist/
COPY --from=page /eligo/web/checkout/dist/ web/checkout/dist/
COPY deploy/ deploy/
USER node

FROM runtime AS catalog
EXPOSE 9000 9001
HEALTHCHECK --interval=5s --timeout=3s --start-period=20s --retries=3 CMD ["node", "deploy/healthy.mjs"]
CMD ["node", "dist/catalog.js"]

FROM runtime AS checkout
EXPOSE 9000 9001
HEALTHCHECK --interval=5s --timeout=3s --start-period=20s --retries=3 CMD ["node", "deploy/healthy.mjs"]
CMD ["node", "dist/checkout.js"]

FROM runtime AS billing
EXPOSE 9000 9001
HEALTHCHECK --interval=5s --timeout=3s --start-period=20s --retries=3 CMD ["node", "deploy/healthy.mjs"]
CMD ["node", "dist/billing.js"]

FROM runtime AS refunds
EXPOSE 9000 9001
HEALTHCHECK --interval=5s --timeout=3s --start-period=20s --retries=3 CMD ["node", "deploy/healthy.mjs"]
CMD ["node", "dist/refunds.js"]

FROM runtime AS webhooks
EXPOSE 9000 9001
HEALTHCHECK --interval=5s --timeout=3s --start-period=20s --retries=3 CMD ["node", "deploy/healthy.mjs"]
CMD ["node", "dist/webhooks.js"]

FROM runtime AS gateway
EXPOSE 8080 9001
HEALTHCHECK --interval=5s --timeout=3s --start-period=20s --retries=3 CMD ["node", "deploy/healthy.mjs"]
CMD ["node", "dist/gateway.js"]

FROM runtime AS sandbox
EXPOSE 4242
# A new volume takes over the folder that the image has at its place, and its owner.
USER root
RUN install -d -o node -g node -m 700 data
USER node
VOLUME /eligo/data
HEALTHCHECK --interval=5s --timeout=3s --start-period=20s --retries=3 CMD ["node", "deploy/healthy.mjs"]
CMD ["node", "dist/sandbox.js"]

# One shot: roles, schemas and migrations of all components.
FROM runtime AS migrate
CMD ["node", "dist/cli.js", "migrate"]

# What an operator calls: docker run … cli accounts list.
FROM runtime AS cli
ENTRYPOINT ["node", "dist/cli.js"]
CMD ["help"]
