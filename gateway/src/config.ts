import { readStripeAccounts } from '@eligo/processor/events';
import { type EnvironmentReader, isPlainUrl, openPageTokens, type PageTokens, readPageKey } from '@eligo/service';
import type { RateLimits } from './accounts/key-cache.ts';
import type { S3Settings } from './files/s3-content.ts';
import { clamd, type Scanner } from './files/scanner.ts';
import { TrustedProxies } from './http/trusted-proxies.ts';
import type { EventSettings } from './processor-events/event-sources.ts';

/** What the gateway reads from its environment beside what every component reads. */
export interface GatewaySettings {
  readonly port: number;
  /** Requests per second that a key may make, unless it has a limit of its own (decisions 10). */
  readonly rateLimit: RateLimits;
  /** Failed authentications per second that one address may make. */
  readonly failedAuthentications: number;
  /** Proxies in front of the gateway that tell whom they were called by; none unless they are named. */
  readonly trustedProxies: TrustedProxies;
  /** Whether the deprecated endpoints are served; else they are 410. */
  readonly deprecatedEndpoints: boolean;
  /** Verifies the tokens in the URLs of checkout pages. */
  readonly pageTokens: PageTokens;
  /** Verifies the tokens in the URLs of payment links. */
  readonly linkTokens: PageTokens;
  /** Verifies the tokens in the URLs of the payment pages of invoices. */
  readonly invoiceTokens: PageTokens;
  /** Where shoppers' browsers reach the sandbox's card fields; undefined where pages of test mode take no cards. */
  readonly sandboxPublicUrl: string | undefined;
  /** Whose events are taken from the processors. */
  readonly events: EventSettings;
  /** Connections that are held open at most, in all and from one address. */
  readonly maxConnections: number;
  readonly maxConnectionsPerAddress: number;
  /** What looks for viruses in uploaded files; undefined where none is configured. */
  readonly fileScanner: Scanner | undefined;
  /** Where new files are kept; undefined for Postgres. */
  readonly fileBucket: S3Settings | undefined;
}

export function readGatewaySettings(env: EnvironmentReader): GatewaySettings {
  const maxConnections = env.integer('ELIGO_MAX_CONNECTIONS', { default: 10_000, min: 1, max: 1_000_000 });
  const pageKey = readPageKey(env);
  return {
    port: env.integer('PORT', { default: 8080, max: 65_535 }),
    rateLimit: {
      live: env.integer('ELIGO_RATE_LIMIT_LIVE', { default: 100, max: 1_000_000 }),
      test: env.integer('ELIGO_RATE_LIMIT_TEST', { default: 25, max: 1_000_000 }),
    },
    failedAuthentications: env.integer('ELIGO_RATE_LIMIT_FAILED_AUTH', { default: 100, min: 1, max: 1_000_000 }),
    trustedProxies: readTrustedProxies(env),
    deprecatedEndpoints: env.oneOf('ELIGO_DEPRECATED_ENDPOINTS', ['on', 'off'], 'on') === 'on',
    pageTokens: openPageTokens(pageKey, 'checkout_session'),
    linkTokens: openPageTokens(pageKey, 'payment_link'),
    invoiceTokens: openPageTokens(pageKey, 'invoice'),
    sandboxPublicUrl: readOrigin(env, 'ELIGO_SANDBOX_PUBLIC_URL'),
    events: readEventSettings(env),
    maxConnections,
    maxConnectionsPerAddress: env.integer('ELIGO_MAX_CONNECTIONS_PER_ADDRESS', {
      default: Math.ceil(maxConnections / 4),
      ...{ min: 1, max: 1_000_000 },
    }),
    fileScanner: readScanner(env),
    fileBucket: readBucket(env),
  };
}

function readEventSettings(env: EnvironmentReader): EventSettings {
  const secretsOf = (name: string) =>
    (env.optionalSecret(name)?.split(',') ?? []).map((secret) => secret.trim()).filter((secret) => secret !== '');
  const settings = {
    sandboxSecrets: secretsOf('ELIGO_SANDBOX_EVENTS_SECRET'),
    stripeSecrets: secretsOf('ELIGO_STRIPE_EVENTS_SECRET'),
  };
  try {
    return { ...settings, stripeAccounts: readStripeAccounts(env.optional('STRIPE_ACCOUNTS')) };
  } catch (error) {
    env.problem(error instanceof Error ? error.message : 'STRIPE_ACCOUNTS is invalid');
    return { ...settings, stripeAccounts: new Map() };
  }
}

function readScanner(env: EnvironmentReader): Scanner | undefined {
  const text = env.optional('ELIGO_FILE_SCANNER');
  if (text === undefined) return undefined;
  const [, host, port] = /^(?:tcp:\/\/)?(\[[\da-f:]+\]|[\w.-]+):(\d{1,5})$/i.exec(text) ?? [];
  if (host !== undefined && Number(port) <= 65_535)
    return clamd({ host: host.replace(/[[\]]/g, ''), port: Number(port) });
  env.problem('ELIGO_FILE_SCANNER must be the address of a clamd such as tcp://clamd:3310');
  return undefined;
}

function readBucket(env: EnvironmentReader): S3Settings | undefined {
  const url = env.optional('ELIGO_FILES_S3_URL')?.replace(/\/$/, '');
  const region = env.optional('ELIGO_FILES_S3_REGION') ?? 'us-east-1';
  const accessKeyId = env.optional('ELIGO_FILES_S3_ACCESS_KEY_ID');
  const secretAccessKey = env.optionalSecret('ELIGO_FILES_S3_SECRET_ACCESS_KEY');
  if (url === undefined) {
    if (accessKeyId !== undefined || secretAccessKey !== undefined) {
      env.problem('ELIGO_FILES_S3_ACCESS_KEY_ID and ELIGO_FILES_S3_SECRET_ACCESS_KEY need ELIGO_FILES_S3_URL');
    }
    return undefined;
  }
  if (!isPlainUrl(url, env.stage) || new URL(url).username !== '') {
    env.problem(
      'ELIGO_FILES_S3_URL must be the https URL of a bucket such as https://s3.us-east-1.amazonaws.com/eligo-files; http is allowed for this machine only',
    );
  }
  if (accessKeyId === undefined || secretAccessKey === undefined) {
    env.problem('ELIGO_FILES_S3_URL needs ELIGO_FILES_S3_ACCESS_KEY_ID and ELIGO_FILES_S3_SECRET_ACCESS_KEY');
    return undefined;
  }
  return { url, region, accessKeyId, secretAccessKey };
}

function readTrustedProxies(env: EnvironmentReader): TrustedProxies {
  const networks = env.optional('ELIGO_TRUSTED_PROXIES')?.split(',') ?? [];
  try {
    return new TrustedProxies(networks.map((network) => network.trim()));
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    env.problem(
      'ELIGO_TRUSTED_PROXIES must be a comma-separated list of addresses and networks (10.0.0.0/8, fd00::/8)',
    );
    return new TrustedProxies([]);
  }
}

// An origin alone: a frame's messages are compared with it.
function readOrigin(env: EnvironmentReader, name: string): string | undefined {
  const text = env.optional(name)?.replace(/\/$/, '');
  if (text === undefined) return undefined;
  if (URL.canParse(text) && new URL(text).origin === text) return text;
  env.problem(`${name} must be an origin such as https://cards.example`);
  return undefined;
}
