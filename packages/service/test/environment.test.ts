import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { withFilesRead } from '../src/environment.ts';
import { type EnvironmentProblems, type EnvironmentReader, readEnvironment } from '../src/index.ts';

test('values are read with their types, and defaults where they are left out', () => {
  const settings = readEnvironment(
    { PORT: '8080', NAME: ' shop ', EMPTY: '', MODE: 'b', FLAG: 'on', LIST: '["a"]', URL: 'http://a.test' },
    (env) => ({
      stage: env.stage,
      port: env.integer('PORT'),
      retries: env.integer('RETRIES', { default: 3 }),
      name: env.text('NAME'),
      empty: env.optional('EMPTY'),
      mode: env.oneOf('MODE', ['a', 'b']),
      flag: env.flag('FLAG'),
      other: env.flag('OTHER'),
      list: env.json('LIST', (value) => value, undefined),
      url: env.url('URL'),
    }),
  );
  expect(settings).toEqual({
    ...{ stage: 'development', port: 8080, retries: 3, name: 'shop', empty: undefined, mode: 'b' },
    ...{ flag: true, other: false, list: ['a'], url: 'http://a.test' },
  });
});

test('a variable may be read from a file, and a fault of the file is reported without its content [D14.138]', () => {
  const folder = mkdtempSync(join(tmpdir(), 'eligo-files-'));
  const file = join(folder, 'secret');
  writeFileSync(file, 'sixteen characters or more\n');
  writeFileSync(join(folder, 'empty'), '');
  const production = { ELIGO_ENV: 'production', TOKEN_FILE: file };
  expect(readEnvironment(production, (env) => env.secret('TOKEN'))).toBe('sixteen characters or more');
  const wrong = { ...production, TOKEN: 'sixteen other characters', KEY_FILE: join(folder, 'none'), URL_FILE: '/' };
  expect(
    problemsOf({ ...wrong, NAME_FILE: join(folder, 'empty') }, (env) => {
      for (const name of ['TOKEN', 'KEY', 'URL', 'NAME']) env.optionalSecret(name);
      env.optionalSecret('KEY');
    }),
  ).toEqual([
    'TOKEN and TOKEN_FILE are both set',
    'KEY_FILE names a file that cannot be read',
    'URL_FILE names a file that cannot be read',
    'NAME_FILE names an empty file',
  ]);
  rmSync(folder, { recursive: true });
});

test('of a whole environment just the variables that are asked for are read from files, and each name is left once [D14.138]', () => {
  const folder = mkdtempSync(join(tmpdir(), 'eligo-files-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'url');
  writeFileSync(file, 'postgres://a:b@c/d\n');
  const given = { DATABASE_URL_FILE: file, STRIPE_SECRET_KEY_FILE: '/run/stripe', NATS_URL: 'nats://a' };
  expect(withFilesRead(given, ['DATABASE_URL', 'NATS_URL'])).toEqual({
    ...{ DATABASE_URL: 'postgres://a:b@c/d', STRIPE_SECRET_KEY_FILE: '/run/stripe', NATS_URL: 'nats://a' },
  });
  expect(() => withFilesRead({ ...given, DATABASE_URL: 'x' }, ['DATABASE_URL'])).toThrow('are both set');
});

test('everything that is wrong is reported at once, by name and never by value', () => {
  const problems = problemsOf({ COUNT: '1e3', LOW: '1', MODE: 'secret-mode', URL: 'not a url', LIST: '{' }, (env) => {
    env.text('MISSING');
    env.integer('COUNT');
    env.integer('LOW', { min: 2, max: 5 });
    env.oneOf('MODE', ['a', 'b']);
    env.url('URL');
    env.json('LIST', (value) => value, undefined);
    env.secret('SECRET');
    env.problem('something else');
  });
  expect(problems).toEqual([
    'MISSING is missing',
    'COUNT must be a whole number from 0 to 9007199254740991',
    'LOW must be a whole number from 2 to 5',
    'MODE must be one of a, b',
    'URL must be a URL',
    'LIST is not valid JSON of the expected shape',
    'SECRET is missing',
    'something else',
  ]);
});

test.each([
  ['a secret that anybody knows', { SECRET: 'Changeme' }],
  ['a short secret', { SECRET: 'short-but-own' }],
  ['a password that anybody knows', { DATABASE: 'postgres://eligo_catalog:eligo@db/eligo' }],
  ['a password that is the user name', { DATABASE: 'postgres://eligo_catalog:eligo_catalog@db/eligo' }],
  ['a short password', { DATABASE: 'postgres://eligo_catalog:hT8q2Lm9Z@db/eligo' }],
  ['no password', { DATABASE: 'postgres://eligo_catalog@db/eligo' }],
])('production refuses %s, and development does not', (_, over) => {
  const good = { SECRET: 'kJ2n-9dLq-Wp4z-Xx81', DATABASE: 'postgres://eligo_catalog:hT8q2Lm9Zr@db/eligo' };
  const read = (env: EnvironmentReader) => {
    env.secret('SECRET');
    env.secretUrl('DATABASE');
    env.optionalSecret('NONE');
  };
  expect(problemsOf({ ...good, ELIGO_ENV: 'production' }, read)).toEqual([]);
  expect(problemsOf({ ...good, ...over, ELIGO_ENV: 'production' }, read)).toHaveLength(1);
  expect(problemsOf({ ...good, ...over }, read)).toEqual([]);
});

describe('the servers of a cluster', () => {
  const read = (env: EnvironmentReader) => env.secretUrls('SERVERS');
  const problems = (SERVERS: string, stage = 'production') => problemsOf({ SERVERS, ELIGO_ENV: stage }, read);

  test.each(['nats://catalog:hT8q2Lm9Zr@a:4222', 'nats://catalog:hT8q2Lm9Zr@a:4222, nats://b:4222,nats://c'])(
    'are one URL or several, and the first carries the password: %s',
    (text) => {
      expect(problems(text)).toEqual([]);
      expect(readEnvironment({ SERVERS: text }, read)).toBe(text);
    },
  );

  test.each(['nats://catalog:hT8q2Lm9Zr@a:4222,b:4222', 'nats://catalog:hT8q2Lm9Zr@a:4222,', 'a, b'])(
    'are each a URL, and are not repeated: %s',
    (text) => expect(problems(text, 'test')).toEqual(['SERVERS must be URLs, separated by commas']),
  );

  test.each([
    'nats://catalog:catalog@a,nats://b',
    'nats://catalog:abc@a,nats://b',
    'nats://a,nats://catalog:hT8q2Lm9Zr@b',
  ])('have a password that production accepts: %s', (text) => expect(problems(text)).toHaveLength(1));
});

describe('the address of a peer', () => {
  const read = (env: EnvironmentReader) => env.peerUrls('CHECKOUT_URL');
  const problems = (CHECKOUT_URL: string) => problemsOf({ CHECKOUT_URL }, read);

  test.each(['http://checkout:9000', 'http://10.0.1.5:9000,http://10.0.1.6:9000', 'http://[::1]:1,http://[::1]:2'])(
    'is one URL, or those of its replicas by IP address: %s [D14.210]',
    (text) => expect(problems(text)).toEqual([]),
  );

  test.each([
    'checkout',
    '',
    'http://10.0.1.5:1,',
    'http://checkout-1:1,http://checkout-2:1',
    'http://10.0.1.5:1,http://[::1]:2',
  ])('is refused where gRPC could not use it: "%s"', (text) => expect(problems(text)).toHaveLength(1));
});

test('a lease that a call may outlive is refused', () => {
  const read = (leaseMs: number) => (env: EnvironmentReader) => {
    env.leaseOutlives({ name: 'LEASE_MS', ms: leaseMs }, { name: 'CALL_TIMEOUT_MS', ms: 6_000 }, 2_000);
  };
  expect(problemsOf({}, read(8_000))).toEqual([]);
  expect(problemsOf({}, read(7_999))).toEqual(['LEASE_MS must be at least CALL_TIMEOUT_MS + 2000 ms']);
});

function problemsOf(record: Record<string, string>, read: (env: EnvironmentReader) => void): readonly string[] {
  try {
    readEnvironment(record, read);
    return [];
  } catch (error) {
    return (error as EnvironmentProblems).problems;
  }
}
