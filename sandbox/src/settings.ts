import { readFileSync } from 'node:fs';
import type { SandboxOptions } from './sandbox.ts';

/** What the sandbox reads from its environment. */
export type SandboxSettings = Pick<SandboxOptions, 'home' | 'host' | 'port' | 'secretKey' | 'events'>;

/**
 * Reads the sandbox's variables, each also from the file that the same name with `_FILE` at its end names, as secrets are mounted. Throws an error that
 * names the first problem, and no value.
 */
export function readSettings(environment: Readonly<Record<string, string | undefined>>): SandboxSettings {
  const variable = (name: string) => variableOf(environment, name);
  const [home, secretKey] = ['ELIGO_SANDBOX_HOME', 'ELIGO_SANDBOX_KEY'].map(variable);
  if (home === undefined || secretKey === undefined) {
    const missing = Object.entries({ ELIGO_SANDBOX_HOME: home, ELIGO_SANDBOX_KEY: secretKey });
    const names = missing.flatMap(([name, value]) => (value === undefined ? [name] : []));
    throw new Error(`The sandbox requires ${names.join(' and ')}`);
  }
  if (variable('ELIGO_ENV') === 'production' && secretKey.length < 24)
    throw new Error('ELIGO_SANDBOX_KEY must be at least 24 characters long in production');
  const [url, secret] = ['ELIGO_SANDBOX_EVENTS_URL', 'ELIGO_SANDBOX_EVENTS_SECRET'].map(variable);
  if (url !== undefined && secret === undefined)
    throw new Error('ELIGO_SANDBOX_EVENTS_URL requires ELIGO_SANDBOX_EVENTS_SECRET');
  return {
    ...{ home, secretKey, host: variable('HOST') ?? '127.0.0.1', port: Number(variable('PORT') ?? '4242') },
    // Of several secrets, the first signs.
    events: url === undefined || secret === undefined ? undefined : { url, secret: secret.split(',')[0] ?? '' },
  };
}

function variableOf(environment: Readonly<Record<string, string | undefined>>, name: string): string | undefined {
  const value = environment[name]?.trim() || undefined;
  const file = environment[`${name}_FILE`]?.trim() || undefined;
  if (file === undefined) return value;
  if (value !== undefined) throw new Error(`${name} and ${name}_FILE are both set`);
  let text: string;
  try {
    text = readFileSync(file, 'utf8').trim();
  } catch {
    throw new Error(`${name}_FILE names a file that cannot be read`);
  }
  if (text === '') throw new Error(`${name}_FILE names an empty file`);
  return text;
}
