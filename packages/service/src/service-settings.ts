import { type Identity, openIdentity } from '@eligo/rpc';
import type { EnvironmentReader } from './environment.ts';
import { type Keyring, openKeyring } from './keyring.ts';
import { logLevels } from './logger.ts';

/** What every component reads from its environment. */
export interface ServiceSettings {
  readonly databaseUrl: string;
  readonly databaseConnections: number;
  readonly natsUrl: string;
  readonly streamReplicas: number;
  readonly host: string;
  readonly grpcPort: number;
  readonly adminPort: number;
  readonly logLevel: (typeof logLevels)[number];
  readonly otlpEndpoint: string | undefined;
  readonly operatorToken: string | undefined;
  readonly failpoints: boolean;
  readonly armedFailpoint: string | undefined;
  /** Undefined only if the environment has problems, and then no code receives the settings. */
  readonly identity: Identity | undefined;
  readonly keyring: Keyring | undefined;
}

/** Reads the variables that every component has. `<NAME>_DATABASE_URL` carries the component's own role. */
export function readServiceSettings(env: EnvironmentReader, name: string): ServiceSettings {
  const failpoints = env.flag('ELIGO_FAILPOINTS');
  if (failpoints && env.stage === 'production') env.problem('ELIGO_FAILPOINTS must be off in production');
  return {
    databaseUrl: env.secretUrl(`${name.toUpperCase()}_DATABASE_URL`),
    databaseConnections: env.integer('DATABASE_CONNECTIONS', { default: 10, min: 2, max: 200 }),
    natsUrl: env.secretUrls('NATS_URL'),
    streamReplicas: env.integer('ELIGO_STREAM_REPLICAS', { default: 1, min: 1, max: 5 }),
    host: env.text('HOST', { default: '127.0.0.1' }),
    grpcPort: env.integer('GRPC_PORT', { default: 0, max: 65_535 }),
    adminPort: env.integer('ADMIN_PORT', { default: 0, max: 65_535 }),
    logLevel: env.oneOf('LOG_LEVEL', logLevels, 'info'),
    otlpEndpoint: env.optional('OTEL_EXPORTER_OTLP_ENDPOINT'),
    operatorToken: env.optionalSecret('ELIGO_OPERATOR_TOKEN'),
    failpoints,
    armedFailpoint: failpoints ? env.optional('ELIGO_FAILPOINT') : undefined,
    identity: readIdentity(env, name),
    keyring: readKeyring(env),
  };
}

// A component's own private key and everybody's public keys.
function readIdentity(env: EnvironmentReader, name: string): Identity | undefined {
  const privateKey = env.secret('ELIGO_SERVICE_KEY');
  const publicKeys = env.json('ELIGO_SERVICE_PUBLIC_KEYS', textRecord, {});
  if (privateKey === '') return undefined;
  try {
    return openIdentity({ name, privateKey, publicKeys });
  } catch {
    env.problem('ELIGO_SERVICE_KEY and ELIGO_SERVICE_PUBLIC_KEYS must be Ed25519 keys in base64 (PKCS 8, SPKI)');
    return undefined;
  }
}

function readKeyring(env: EnvironmentReader): Keyring | undefined {
  const text = env.secret('ELIGO_KEYRING');
  if (text === '') return undefined;
  try {
    return openKeyring(text);
  } catch {
    env.problem('ELIGO_KEYRING must be id:base64key,… with keys of 32 bytes');
    return undefined;
  }
}

function textRecord(value: unknown): Record<string, string> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Error('not an object');
  const record: Record<string, string> = {};
  for (const [name, text] of Object.entries(value)) {
    if (typeof text !== 'string') throw new Error('not a text');
    record[name] = text;
  }
  return record;
}
