import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';

test.each(['loud', ''])(
  'a gateway without its variables, and LOG_LEVEL=%j, names all that is wrong and exits 1',
  (level) => {
    const main = new URL('../src/main.ts', import.meta.url).pathname;
    const environment = { PATH: process.env.PATH, LOG_LEVEL: level, ELIGO_TRUSTED_PROXIES: 'everybody' };
    const { status, stdout, stderr } = spawnSync(process.execPath, [main], { env: environment, encoding: 'utf8' });
    expect(status).toBe(1);
    expect(stdout).toBe('');
    const named = stderr.match(/(?<=- )[A-Z_]+/g);
    expect(named).toEqual([
      'GATEWAY_DATABASE_URL',
      'NATS_URL',
      ...(level === '' ? [] : ['LOG_LEVEL']),
      'ELIGO_SERVICE_KEY',
      'ELIGO_SERVICE_PUBLIC_KEYS',
      'ELIGO_PAGE_KEY',
      'ELIGO_TRUSTED_PROXIES',
    ]);
  },
);
