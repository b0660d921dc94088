import { spawn } from 'node:child_process';
import { closeSync, openSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort } from '@eligo/ports';
import { expect, onTestFinished, test } from 'vitest';
import { readSettings } from '../src/settings.ts';
import { newHome, secretKey, sender } from './support.ts';

test('the sandbox reads its secrets from files, as they are mounted [D14.138]', () => {
  const folder = newHome();
  const file = (name: string, text: string) => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  expect(
    readSettings({
      ...{ ELIGO_SANDBOX_HOME: '/data', ELIGO_SANDBOX_KEY_FILE: file('key', 'sk_test_of_a_file\n') },
      ...{ ELIGO_SANDBOX_EVENTS_URL: 'http://gateway', ELIGO_SANDBOX_EVENTS_SECRET_FILE: file('events', 'new,old') },
    }),
  ).toEqual({
    ...{ home: '/data', host: '127.0.0.1', port: 4242, secretKey: 'sk_test_of_a_file' },
    events: { url: 'http://gateway', secret: 'new' },
  });
});

test.each([
  [{}, 'The sandbox requires ELIGO_SANDBOX_HOME and ELIGO_SANDBOX_KEY'],
  [{ ELIGO_SANDBOX_HOME: '/data' }, 'The sandbox requires ELIGO_SANDBOX_KEY'],
  [
    { ELIGO_SANDBOX_KEY: 'a', ELIGO_SANDBOX_KEY_FILE: '/b' },
    'ELIGO_SANDBOX_KEY and ELIGO_SANDBOX_KEY_FILE are both set',
  ],
  [{ ELIGO_SANDBOX_KEY_FILE: '/no/such' }, 'ELIGO_SANDBOX_KEY_FILE names a file that cannot be read'],
  [{ ELIGO_SANDBOX_KEY_FILE: '/dev/null' }, 'ELIGO_SANDBOX_KEY_FILE names an empty file'],
  [
    { ELIGO_SANDBOX_HOME: '/data', ELIGO_SANDBOX_KEY: 'hunter2', ELIGO_ENV: 'production' },
    'ELIGO_SANDBOX_KEY must be at least 24 characters long in production',
  ],
  [
    { ELIGO_SANDBOX_HOME: '/data', ELIGO_SANDBOX_KEY: 'a', ELIGO_SANDBOX_EVENTS_URL: 'http://gateway' },
    'ELIGO_SANDBOX_EVENTS_URL requires ELIGO_SANDBOX_EVENTS_SECRET',
  ],
])('the sandbox does not start with %j, and says why', (environment, message) => {
  expect(() => readSettings(environment)).toThrow(new Error(message));
});

test('the sandbox serves while the disk of its log is full [D14.137]', async () => {
  const full = openSync('/dev/full', 'w');
  const port = await freePort();
  const child = spawn(process.execPath, [fileURLToPath(new URL('../src/main.ts', import.meta.url))], {
    env: {
      ...{ PATH: process.env.PATH, PORT: String(port) },
      ...{ ELIGO_SANDBOX_HOME: newHome(), ELIGO_SANDBOX_KEY: secretKey },
    },
    stdio: ['ignore', full, full],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  closeSync(full);
  const url = `http://127.0.0.1:${port}`;
  const isThere = () =>
    fetch(`${url}/healthz`).then(
      (answer) => answer.ok,
      () => false,
    );
  await expect.poll(isThere, { interval: 20, timeout: 20_000 }).toBe(true);
  for (let i = 0; i < 3; i += 1) expect((await sender(url).get('/v1/customers')).status).toBe(200);
  expect(child.exitCode).toBeNull();
});
