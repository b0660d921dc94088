import { decisionsIn, placesIn } from '../rule.ts';
import {
  answers,
  carts,
  confirmTable,
  failures,
  ids,
  input,
  isolation,
  pages,
  prices,
  probes,
  rateLimits,
  readPage,
  refusals,
  routeTable,
  trustedProxies,
} from './tests.ts';

const gateway = placesIn('gateway/src');
const catalog = placesIn('services/catalog/src');

const clients = decisionsIn('1. What storefront clients really send', [
  {
    quote: 'on catalog and webhook-endpoint routes it is ignored:',
    contract: ['route.ts#IdempotencyPolicy'],
    code: gateway('http/idempotency.ts#idempotencyOf'),
    tests: refusals('is ignored on catalog and webhook routes, whatever it holds'),
  },
  {
    quote: 'Unknown and read-only fields are ignored;',
    contract: ['tolerance.ts#toleranceOf'],
    tests: [
      ...input('unknown fields are dropped'),
      ...answers('a fetched price posted back changes nothing but what may change'),
    ],
  },
  {
    quote: '`null` is accepted for every optional field;',
    contract: ['tolerance.ts#toleranceOf'],
    tests: input('null counts as absent, at every depth'),
  },
  {
    quote: '`[]` stands for an empty object (PHP).',
    contract: ['tolerance.ts#toleranceOf'],
    tests: input('[] stands for an empty object where an object is meant, and for itself where a list is'),
  },
  {
    quote:
      '**A bad reference in a body is a 422** whose `type` is the machine code and whose `loc` and `msg` name the item',
    contract: ['fields.ts#reference', 'violations.ts#violationsOf'],
    code: catalog('domain/reference.ts#badReference'),
    tests: [
      ...input('a bad reference names itself by its code, and echoes only what is an id of ours'),
      ...carts('names every bad reference at its place, and echoes only ids of ours'),
      ...answers('a product that the body names and that is not there is a 422 at its place'),
    ],
  },
]);

const keys = decisionsIn('2. Keys, accounts, modes', [
  {
    quote: 'Unknown, malformed, revoked and expired keys get the same 401.',
    code: gateway('http/authenticate.ts#Authenticator'),
    tests: [
      ...probes('every route refuses a missing, malformed and unknown key by one 401'),
      ...refusals(
        'are refused when they are expired, as unknown ones are',
        'that are revoked end on every gateway within 5 s',
      ),
    ],
  },
  {
    quote:
      'Scopes are `<resource>_read` and `<resource>_write`, derived from the routes; `files:read` is accepted for `files_read`.',
    contract: ['routes.ts#scopes', 'routes.ts#scopeOf'],
    tests: [
      ...routeTable('scopes are read and write of each resource; a colon is accepted'),
      ...refusals('take a scope with a colon for the one with an underscore'),
    ],
  },
  {
    quote: "Members read each other's single price, with its product when expanded, and nothing else;",
    code: catalog('actions/read-price.ts#readPrice'),
    database: ['catalog.sibling_price_read on prices'],
    tests: prices('reads a sibling’s single price, with its product when expanded, and nothing else of it'),
  },
  {
    quote: 'Test and live are two worlds:',
    code: ['packages/postgres/src/scope.ts#scopePolicy'],
    tests: isolation('only rows of the account and mode are seen, whatever the statement asks for'),
  },
]);

const lists = decisionsIn('3. Identifiers, lists, expansion', [
  {
    quote: 'An identifier is its prefix and 26 characters of lowercase base32',
    code: ['packages/values/src/ids.ts#newId', 'packages/values/src/ids.ts#isId'],
    tests: ids(
      'is the prefix and 26 lowercase base32 characters',
      'increases whatever the clock does, and by more than one',
      'holds for an identifier of the kind and for nothing else',
    ),
  },
  {
    quote: 'Pages are keyset pages on the id.',
    code: ['packages/postgres/src/read-page.ts#readPage', ...catalog('store/page.ts#readPage')],
    tests: readPage('is the rows next to its cursor, newest first, and says whether there are more'),
  },
  {
    quote: "A cursor that is unknown, another account's or of another kind is a 422",
    contract: ['query.ts#listQuery'],
    tests: readPage('with %s of nobody, or of another account, is a 422 at its place'),
  },
  {
    quote: 'A time without a zone is UTC; a space where an unescaped `+` stood is accepted;',
    contract: ['times.ts#parseTime'],
    tests: input('%s is %s'),
  },
  {
    quote: 'One batch call per record type, whatever the rows.',
    code: gateway('expand/fetch-references.ts#fetchReferences'),
    tests: answers('makes one batch call per record type, whatever the number of rows'),
  },
]);

const limits = decisionsIn('10. Limits and errors', [
  {
    quote: '429 `rate_limited` with `Retry-After` and `RateLimit-*`;',
    code: gateway('http/rate-limiter.ts#RateLimiter'),
    tests: rateLimits('let a burst of four seconds through and then the rate; the headers say how much is left'),
  },
  {
    quote: 'failed authentications are limited by address, of IPv6 by its /64.',
    code: gateway('http/failed-authentications.ts#FailedAuthentications', 'http/client-network.ts#clientNetwork'),
    tests: rateLimits('bound failed authentications by address, and leave good keys alone', '%s in %s'),
  },
  {
    quote:
      'Behind proxies that the operator names it is the nearest address in `X-Forwarded-For` that is none of theirs.',
    code: gateway('http/trusted-proxies.ts#TrustedProxies'),
    tests: trustedProxies(
      '%s: %s, %s',
      'are counted for each client behind a trusted proxy, however it spells what it claims',
      'are counted for the peer where no proxy is trusted, whatever it sends',
    ),
  },
  {
    quote: 'Every answer has a `Request-Id`.',
    code: gateway('http/write-answer.ts#jsonHeaders', 'http/write-answer.ts#streamHeaders'),
    tests: refusals('carries a request id, security headers and no CORS headers'),
  },
  {
    quote:
      'All codes, with status, advice and remedy, are `packages/failures/src/table.ts`; one that is not there does not exist.',
    code: ['packages/failures/src/table.ts#failureTable'],
    tests: [
      ...failures('%s says what happened and what to do, in sentences'),
      ...routeTable('names a scope that keys can carry and codes that exist'),
    ],
  },
  {
    quote: '**A card number never enters**:',
    contract: ['screen.ts#screen', 'screen.ts#isCardNumber'],
    tests: input(
      'they are refused in any field, in keys and in metadata, but not in product codes, phones and ids',
      '%s is one',
      '%s is none',
    ),
  },
  {
    quote:
      '`POST /v1/refunds` is served with `Deprecation`, `Sunset` and `Link`; `ELIGO_DEPRECATED_ENDPOINTS=off` makes it 410 `endpoint_removed`.',
    contract: ['refunds.create'],
    code: gateway('mount.ts#mount', 'http/authorize.ts#authorize'),
    tests: refusals('says that it is, until when, and what replaces it', 'can be turned off, and is then gone'),
  },
  {
    quote: '`/v1/openapi.json`, `/healthz` and `/readyz` are public and outside the route table.',
    code: gateway('pages.ts#openPages', 'readiness.ts#readiness'),
    tests: pages('need no key: the description, health and readiness', 'say when a peer is gone'),
  },
]);

const finer = decisionsIn('13. Finer points', [
  {
    quote:
      "**A line given as `{product}`** takes the product's one active price; none or several are a 422 `price_required`.",
    code: catalog('actions/resolve-cart.ts#resolveCart'),
    tests: carts('takes a product’s one active price; none or several are price_required'),
  },
  {
    quote: '**Order of refusals**: 401, 429, 403, 404 (path), 400, 422, then 409 and the rest.',
    code: gateway('api.ts#api', 'http/intake.ts#intakeOf', 'presence.ts#assertPresent'),
    tests: [
      ...rateLimits('go before scope, path and body'),
      ...refusals(
        'a path that names nothing goes before a body that is wrong',
        'a confirm judges its header and body before it looks for the session',
      ),
      ...confirmTable('422 manual_capture_not_supported, before money moves'),
    ],
  },
  {
    quote: 'A NUL or a lone surrogate in any text is a 422.',
    contract: ['screen.ts#screen'],
    tests: input('%s', 'nothing that it is given makes it throw'),
  },
  {
    quote: '**Arrays in a query**: `k[]=a&k[]=b`, `k[0]=a&k[1]=b`, or the name repeated.',
    contract: ['query.ts#queryList'],
    code: gateway('http/parse-query.ts#parseQuery'),
    tests: input('arrays in a query: brackets, indexes or the name repeated'),
  },
  {
    quote:
      'A `lookup_key` moves from a price of the same product; one held elsewhere is 409 unless `transfer_lookup_key`.',
    contract: ['prices.create', 'prices.update'],
    code: catalog('actions/create-price.ts#claimLookupKey', 'store/prices.ts#takeLookupKey'),
    database: ['catalog.prices_lookup_key'],
    tests: prices(
      'moves from a price of the same product',
      'held by another product stays there, also when that is archived',
      'moves with transfer_lookup_key, by POST and by PATCH, from whichever price holds it',
    ),
  },
  {
    quote: "**Rate limits** have a burst of four seconds' worth.",
    code: gateway('http/rate-limiter.ts#burstSeconds'),
    tests: rateLimits('lets %i a second through over a minute, and four seconds of it at once'),
  },
]);

/** What the decisions settle about what every resource shares. */
export const edgeDecisions = [clients, keys, lists, limits, finer];
