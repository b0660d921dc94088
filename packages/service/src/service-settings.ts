import { statSync } from 'node:fs';
import { natsTlsProblem } from '@eligo/events';
import { tlsProblem } from '@eligo/postgres';
import { type Identity, type LoginVerifier, loginVerifier, openIdentity } from '@eligo/rpc';
import { readCertificate, UnusableCertificate } from '@eligo/rpc/certificate';
import type { EnvironmentReader } from './environment.ts';
import { logLevels } from './logger.ts';

/** What every component reads from its environment. */
export interface ServiceSettings {
  readonly databaseUrl: string;
  readonly databaseConnections: number;
  readonly natsUrl: string;
  /** Where the files of TLS to NATS are; undefined: Node's own authorities, and TLS for a `tls:` URL alone. */
  readonly natsTlsFolder: string | undefined;
  readonly streamReplicas: number;
  /** JetStream's room on disk, where it is known. */
  readonly natsStoreBytes: number | undefined;
  readonly host: string;
  readonly grpcPort: number;
  readonly adminPort: number;
  /** Domain names of the admin port beside addresses and names without a dot. */
  readonly adminNames: readonly string[];
  /** Where the component's certificate is; undefined: no TLS between components. */
  readonly tlsFolder: string | undefined;
  /** How long the component goes on serving after it has become not ready. */
  readonly drainDelayMs: number;
  readonly logLevel: (typeof logLevels)[number];
  readonly otlpEndpoint: string | undefined;
  /** A folder on the disk that is watched; undefined: none is. */
  readonly diskFolder: string | undefined;
  readonly diskLeastFreeBytes: number;
  /** The share of new traces that is recorded. */
  readonly traceRatio: number;
  /** Verifies the logins of operators; undefined: no business calls on the admin port. */
  readonly operators: LoginVerifier | undefined;
  readonly failpoints: boolean;
  readonly armedFailpoint: string | undefined;
  /** Undefined only if the environment has problems, and then no code receives the settings. */
  readonly identity: Identity | undefined;
}

/** Reads the variables that every component has. `<NAME>_DATABASE_URL` carries the component's own role. */
export function readServiceSettings(env: EnvironmentReader, name: string): ServiceSettings {
  const failpoints = env.flag('ELIGO_FAILPOINTS');
  if (failpoints && env.stage === 'production') env.problem('ELIGO_FAILPOINTS must be off in production');
  return {
    databaseUrl: readDatabaseUrl(env, `${name.toUpperCase()}_DATABASE_URL`),
    databaseConnections: env.integer('DATABASE_CONNECTIONS', { default: 10, min: 2, max: 200 }),
    natsUrl: env.secretUrls('NATS_URL'),
    natsTlsFolder: readNatsTlsFolder(env),
    natsStoreBytes: readNatsStore(env),
    streamReplicas: env.integer('ELIGO_STREAM_REPLICAS', { default: 1, min: 1, max: 5 }),
    host: env.text('HOST', { default: '127.0.0.1' }),
    grpcPort: env.integer('GRPC_PORT', { default: 0, max: 65_535 }),
    adminPort: env.integer('ADMIN_PORT', { default: 0, max: 65_535 }),
    adminNames: readAdminNames(env),
    tlsFolder: readTlsFolder(env, name),
    drainDelayMs: env.integer('ELIGO_DRAIN_DELAY_MS', { default: 0, max: 30_000 }),
    logLevel: env.oneOf('LOG_LEVEL', logLevels, 'info'),
    otlpEndpoint: env.optional('OTEL_EXPORTER_OTLP_ENDPOINT'),
    diskFolder: readDiskFolder(env),
    diskLeastFreeBytes: env.integer('ELIGO_DISK_LEAST_FREE_MB', { default: 512, min: 1, max: 1_000_000 }) * 1_048_576,
    traceRatio: readRatio(env, 'OTEL_TRACES_SAMPLER_ARG'),
    operators: readOperators(env),
    failpoints,
    armedFailpoint: failpoints ? env.optional('ELIGO_FAILPOINT') : undefined,
    identity: readIdentity(env, name),
  };
}

function readDatabaseUrl(env: EnvironmentReader, variable: string): string {
  const url = env.secretUrl(variable);
  const problem = tlsProblem(url);
  if (problem !== undefined) env.problem(`${variable}: ${problem}`);
  return url;
}

function readTlsFolder(env: EnvironmentReader, name: string): string | undefined {
  const folder = env.optional('ELIGO_TLS_FOLDER');
  if (folder === undefined) return undefined;
  try {
    readCertificate(folder, name);
  } catch (error) {
    if (!(error instanceof UnusableCertificate)) throw error;
    env.problem(`ELIGO_TLS_FOLDER: ${error.message}`);
  }
  return folder;
}

// A wrong name would turn the watch off without a word.
function readDiskFolder(env: EnvironmentReader): string | undefined {
  const folder = env.optional('ELIGO_DISK_FOLDER');
  if (folder !== undefined && !isFolder(folder))
    env.problem('ELIGO_DISK_FOLDER must be an existing folder that the component can read');
  return folder;
}

// One in a folder that may not be entered is not seen.
function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}

function readAdminNames(env: EnvironmentReader): string[] {
  const names = env.optional('ELIGO_ADMIN_HOSTS')?.toLowerCase().split(',') ?? [];
  const trimmed = names.map((name) => name.trim());
  if (trimmed.some((name) => !/^[a-z0-9_-]+(?:\.[a-z0-9_-]+)*$/.test(name)))
    env.problem('ELIGO_ADMIN_HOSTS must be host names without ports, separated by commas');
  return trimmed;
}

function readNatsTlsFolder(env: EnvironmentReader): string | undefined {
  const folder = env.optional('ELIGO_NATS_TLS_FOLDER');
  const problem = folder === undefined ? undefined : natsTlsProblem(folder);
  if (problem !== undefined) env.problem(`ELIGO_NATS_TLS_FOLDER: ${problem}`);
  return folder;
}

function readNatsStore(env: EnvironmentReader): number | undefined {
  const name = 'ELIGO_NATS_STORE_GB';
  if (env.optional(name) === undefined) return undefined;
  return env.integer(name, { min: 1, max: 99_999 }) * 1_073_741_824;
}

function readRatio(env: EnvironmentReader, name: string): number {
  const text = env.optional(name);
  if (text === undefined) return 1;
  if (/^(?:0(?:\.\d{1,6})?|1(?:\.0{1,6})?)$/.test(text)) return Number(text);
  env.problem(`${name} must be a number from 0 to 1`);
  return 1;
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

// The public half alone: a component can verify a login, and cannot make one.
function readOperators(env: EnvironmentReader): LoginVerifier | undefined {
  const publicKey = env.optional('ELIGO_OPERATOR_PUBLIC_KEY');
  if (publicKey === undefined) return undefined;
  try {
    return loginVerifier(publicKey);
  } catch {
    env.problem('ELIGO_OPERATOR_PUBLIC_KEY must be an Ed25519 public key in base64 (SPKI)');
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
