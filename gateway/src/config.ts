import { type EnvironmentReader, openPageTokens, type PageTokens, readPageKey } from '@eligo/service';
import { TrustedProxies } from './http/trusted-proxies.ts';

/** What the gateway reads from its environment beside what every component reads. */
export interface GatewaySettings {
  readonly port: number;
  /** Requests per second that a key may make, unless it has a limit of its own (decisions 10). */
  readonly rateLimit: { readonly live: number; readonly test: number };
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
  /** Where shoppers' browsers reach the sandbox's card fields; undefined where pages of test mode take no cards. */
  readonly sandboxPublicUrl: string | undefined;
  /** Connections that are held open at most. */
  readonly maxConnections: number;
}

export function readGatewaySettings(env: EnvironmentReader): GatewaySettings {
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
    sandboxPublicUrl: readOrigin(env, 'ELIGO_SANDBOX_PUBLIC_URL'),
    maxConnections: env.integer('ELIGO_MAX_CONNECTIONS', { default: 10_000, min: 1, max: 1_000_000 }),
  };
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
