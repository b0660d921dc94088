import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';

/** What a process is given: the environment, or the part of it that a stack passes on. */
export type EnvironmentRecord = Readonly<Record<string, string | undefined>>;

/** How strict a process is about its secrets. */
export type Stage = 'development' | 'test' | 'production';

/** Everything that is wrong with an environment, at once. The values are never repeated. */
export class EnvironmentProblems extends Error {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(`Invalid environment:\n${problems.map((problem) => `  - ${problem}`).join('\n')}`);
    this.name = 'EnvironmentProblems';
    this.problems = problems;
  }
}

/**
 * Reads settings out of an environment: `readEnvironment(process.env, (env) => ({ port: env.integer('PORT', { default: 8080 }) }))`. Throws
 * EnvironmentProblems that lists everything that is missing or malformed.
 */
export function readEnvironment<Settings>(
  record: EnvironmentRecord,
  read: (env: EnvironmentReader) => Settings,
): Settings {
  const reader = new EnvironmentReader(record);
  const settings = read(reader);
  reader.assertSound();
  return settings;
}

/** The environment with these variables read from the files that `…_FILE` names, for a process that looks them up by name. Throws EnvironmentProblems. */
export function withFilesRead(record: EnvironmentRecord, names: readonly string[]): EnvironmentRecord {
  const inFiles = names.filter((name) => record[`${name}_FILE`]?.trim());
  if (inFiles.length === 0) return record;
  const values = readEnvironment(record, (env) => inFiles.map((name) => [name, env.optional(name)] as const));
  const files = new Set(inFiles.map((name) => `${name}_FILE`));
  return {
    ...Object.fromEntries(Object.entries(record).filter(([name]) => !files.has(name))),
    ...Object.fromEntries(values),
  };
}

/** A typed reader that notes what is wrong and goes on; what it returns counts only when nothing was. */
export class EnvironmentReader {
  readonly stage: Stage;
  readonly #record: EnvironmentRecord;
  readonly #problems: string[] = [];
  readonly #files = new Map<string, string>();

  constructor(record: EnvironmentRecord) {
    this.#record = record;
    this.stage = this.oneOf('ELIGO_ENV', ['development', 'test', 'production'], 'development');
  }

  /** A text that must be there, unless a default is given. */
  text(name: string, options: { default?: string } = {}): string {
    const value = this.optional(name) ?? options.default;
    if (value !== undefined) return value;
    this.problem(`${name} is missing`);
    return '';
  }

  /** A text that may be left out; an empty one counts as left out. `NAME_FILE` names a file that holds it, as secrets are mounted. */
  optional(name: string): string | undefined {
    const value = this.#record[name]?.trim() || undefined;
    const file = this.#record[`${name}_FILE`]?.trim() || undefined;
    if (file === undefined) return value;
    if (value === undefined) return this.#contentOf(name, file);
    this.problem(`${name} and ${name}_FILE are both set`);
    return value;
  }

  /** A whole number within its bounds. */
  integer(name: string, options: { default?: number; min?: number; max?: number } = {}): number {
    const { min = 0, max = Number.MAX_SAFE_INTEGER } = options;
    const text = this.optional(name);
    if (text === undefined) {
      if (options.default === undefined) this.problem(`${name} is missing`);
      return options.default ?? min;
    }
    const value = /^-?\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
    if (value >= min && value <= max) return value;
    this.problem(`${name} must be a whole number from ${min} to ${max}`);
    return min;
  }

  oneOf<Value extends string>(name: string, values: readonly [Value, ...Value[]], fallback?: Value): Value {
    const text = this.optional(name) ?? fallback;
    const value = values.find((one) => one === text);
    if (value !== undefined) return value;
    this.problem(text === undefined ? `${name} is missing` : `${name} must be one of ${values.join(', ')}`);
    return values[0];
  }

  /** `on`, or off when it is left out. */
  flag(name: string): boolean {
    return this.oneOf(name, ['off', 'on'], 'off') === 'on';
  }

  url(name: string, options: { default?: string } = {}): string {
    const text = this.text(name, options);
    if (text !== '' && !URL.canParse(text)) this.problem(`${name} must be a URL`);
    return text;
  }

  /** The address of a peer: a URL, or the URLs of its replicas, separated by commas, which are IP addresses then. */
  peerUrls(name: string): string {
    const text = this.text(name);
    if (text === '') return text;
    const urls = text.split(',').map((part) => (URL.canParse(part) ? new URL(part) : undefined));
    if (urls.some((url) => !url?.hostname)) this.problem(`${name} must be a URL, or URLs separated by commas`);
    else if (urls.length > 1 && new Set(urls.map((url) => familyOf(url?.hostname ?? ''))).size > 1) {
      this.problem(`${name} must name its replicas by IP addresses of one family`);
    } else if (urls.length > 1 && familyOf(urls[0]?.hostname ?? '') === 0) {
      this.problem(`${name} must name its replicas by IP addresses; one host name may have several`);
    }
    return text;
  }

  /** A secret. In production it may be neither short nor one that anybody would guess. */
  secret(name: string): string {
    const value = this.text(name);
    if (value !== '') this.#refuseGuessable(name, value);
    return value;
  }

  /** A secret that may be left out. */
  optionalSecret(name: string): string | undefined {
    const value = this.optional(name);
    if (value !== undefined) this.#refuseGuessable(name, value);
    return value;
  }

  /** A URL with credentials inside. In production its password may not be one that anybody would guess. */
  secretUrl(name: string): string {
    const text = this.url(name);
    if (URL.canParse(text)) this.#refuseGuessablePassword(name, new URL(text));
    return text;
  }

  /** The URLs of a cluster's servers, separated by commas; the credentials are those of the first, and are judged as by `secretUrl`. */
  secretUrls(name: string): string {
    const text = this.text(name);
    if (text === '') return text;
    const urls = text.split(',').map((part) => (URL.canParse(part) ? new URL(part) : undefined));
    const [first] = urls;
    // `b:4222` after a comma would be a URL as well, of a scheme b and of no host.
    if (first === undefined || urls.some((url) => !url?.hostname))
      this.problem(`${name} must be URLs, separated by commas`);
    else this.#refuseGuessablePassword(name, first);
    return text;
  }

  /** A JSON value, as `parse` takes it; what `parse` throws is taken for a fault of the value. */
  json<Value>(name: string, parse: (value: unknown) => Value, fallback: Value): Value {
    const text = this.optional(name);
    if (text === undefined) {
      this.problem(`${name} is missing`);
      return fallback;
    }
    try {
      return parse(JSON.parse(text));
    } catch {
      this.problem(`${name} is not valid JSON of the expected shape`);
      return fallback;
    }
  }

  /** Refuses to start unless a lease outlives the call that it covers by a margin: else a second worker starts what the first still does. */
  leaseOutlives(lease: { name: string; ms: number }, call: { name: string; ms: number }, marginMs: number): void {
    if (lease.ms >= call.ms + marginMs) return;
    this.problem(`${lease.name} must be at least ${call.name} + ${marginMs} ms`);
  }

  /** Notes something else that is wrong. */
  problem(text: string): void {
    this.#problems.push(text);
  }

  assertSound(): void {
    if (this.#problems.length > 0) throw new EnvironmentProblems(this.#problems);
  }

  #contentOf(name: string, file: string): string | undefined {
    const known = this.#files.get(name);
    if (known !== undefined) return known || undefined;
    try {
      const text = readFileSync(file, 'utf8').trim();
      if (text === '') this.problem(`${name}_FILE names an empty file`);
      this.#files.set(name, text);
      return text || undefined;
    } catch {
      this.problem(`${name}_FILE names a file that cannot be read`);
      this.#files.set(name, '');
      return undefined;
    }
  }

  #refuseGuessable(name: string, value: string): void {
    if (this.stage !== 'production') return;
    if (isGuessable(value)) this.problem(`${name} is a known default secret; production requires one of your own`);
    else if (value.length < shortestSecret) this.problem(`${name} is shorter than ${shortestSecret} characters`);
  }

  #refuseGuessablePassword(name: string, url: URL): void {
    if (this.stage !== 'production') return;
    const password = decodeURIComponent(url.password);
    if (password === '') this.problem(`${name} has no password`);
    else if (isGuessable(password) || password === decodeURIComponent(url.username)) {
      this.problem(`${name} has a known default password; production requires one of your own`);
    } else if (password.length < shortestPassword) {
      this.problem(`${name} has a password that is shorter than ${shortestPassword} characters`);
    }
  }
}

// 4, 6, or 0 for a host name; URLs have IPv6 addresses in brackets.
function familyOf(hostname: string): number {
  return isIP(hostname.replace(/^\[|\]$/g, ''));
}

const shortestSecret = 16;
/** A provider of databases or mail may choose the password of a URL, and some choose shorter ones than ours. */
const shortestPassword = 10;

const guessedFirst = new Set(['eligo', 'postgres', 'password', 'secret', 'changeme', 'admin', 'nats', 'test']);

/** Whether a secret is one that anybody would try first. */
function isGuessable(value: string): boolean {
  return guessedFirst.has(value.toLowerCase());
}
