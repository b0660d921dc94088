import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { waitUntil } from '@eligo/testkit';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { nameLookUp } from '../src/jobs/delivery/look-up-name.ts';
import { nameResolver } from '../src/jobs/delivery/name-resolver.ts';
import { openFixture, receiver, refundEvent, someScope } from './fixture.ts';
import { type NameServer, nameServer } from './name-server.ts';

let server: NameServer;
let folder = '';
let hostsFile = '';

beforeAll(async () => {
  server = await nameServer();
  folder = await mkdtemp(join(tmpdir(), 'eligo-names-'));
  hostsFile = join(folder, 'hosts');
  await writeFile(hostsFile, '127.0.0.9 printer.example # a comment\n::1\tprinter.example other.example\nnonsense x\n');
});
afterEach(() => {
  server.names.clear();
  server.asked.length = 0;
});
afterAll(async () => {
  server.close();
  await rm(folder, { recursive: true });
});

const lookUp = (timeoutMs = 20_000) => nameLookUp({ servers: [server.address], hostsFile, timeoutMs });
const asker = { accountId: 'facct_1', webhookId: 'fwh_1' };

describe('a look-up', () => {
  it('asks the name servers', async () => {
    server.names.set('shop.example', ['203.0.114.1', '203.0.114.2']);
    expect(await lookUp()('shop.example')).toEqual({ addresses: ['203.0.114.1', '203.0.114.2'], ttlMs: 60_000 });
  });

  it.each([
    ['printer.example', ['127.0.0.9', '::1']],
    ['OTHER.example', ['::1']],
    ['localhost', ['127.0.0.1', '::1']],
    ['a.localhost', ['127.0.0.1', '::1']],
  ])('finds %s on this machine and asks no server', async (host, addresses) => {
    expect((await lookUp()(host)).addresses).toEqual(addresses);
    expect(server.asked).toEqual([]);
  });

  it('says that a name does not exist', async () => {
    await expect(lookUp()('nowhere.example')).rejects.toThrow('the host was not resolved (ENOTFOUND)');
  });

  it('ends in time when the servers say nothing, and more than four run at once [D14.134]', async () => {
    const hosts = Array.from({ length: 200 }, (_, i) => `silent${i}.example`);
    for (const host of hosts) server.names.set(host, 'silent');
    const started = performance.now();
    const ends = await Promise.allSettled(hosts.map(lookUp(300)));
    // Four at a time, they would take fifteen seconds.
    expect(performance.now() - started).toBeLessThan(10_000);
    expect(ends.map((end) => end.status === 'rejected' && String(end.reason.message))).toEqual(
      hosts.map(() => 'the host was not resolved (ETIMEOUT)'),
    );
  });
});

describe('what is known of names', () => {
  it('is remembered as long as the name servers say, between a second and a minute [D14.134]', async () => {
    for (const [ttlSeconds, keptMs] of [
      [0, 1_000],
      [30, 30_000],
      [86_400, 60_000],
    ] as const) {
      let [asked, now] = [0, 0];
      const resolve = nameResolver({
        now: () => now,
        lookUp: async () => {
          asked += 1;
          return { addresses: ['203.0.114.1'], ttlMs: ttlSeconds * 1_000 };
        },
      });
      await Promise.all([resolve('shop.example', asker), resolve('shop.example', asker)]);
      now = keptMs - 1;
      await resolve('shop.example', asker);
      expect(asked).toBe(1);
      now = keptMs;
      await resolve('shop.example', asker);
      expect(asked).toBe(2);
    }
  });

  it('includes failures: each in a row twice as long as the one before, up to a minute [D14.134]', async () => {
    let now = 0;
    const resolve = nameResolver({ now: () => now, lookUp: lookUp() });
    const waits: number[] = [];
    for (let times = 0; times < 9; times++) {
      await resolve('nowhere.example', asker).catch(() => undefined);
      const before = server.asked.length;
      const from = now;
      while (server.asked.length === before) {
        now += 500;
        await resolve('nowhere.example', asker).catch(() => undefined);
      }
      waits.push((now - from) / 1_000);
    }
    expect(waits.slice(0, 3)).toEqual([1, 2, 4]);
    expect(Math.max(...waits)).toBe(60);
  });

  it('is no business of other accounts', async () => {
    let asked = 0;
    const resolve = nameResolver({
      lookUp: async () => {
        asked += 1;
        return { addresses: ['203.0.114.1'], ttlMs: 60_000 };
      },
    });
    await resolve('shop.example', asker);
    await resolve('shop.example', { ...asker, accountId: 'facct_2' });
    expect(asked).toBe(2);
  });
});

describe('the budget of an account', () => {
  it('runs sixteen look-ups side by side, and one at a time after sixty failures [D14.134]', async () => {
    let [running, most] = [0, 0];
    const ends: (() => void)[] = [];
    const resolve = nameResolver({
      lookUp: () => {
        running += 1;
        most = Math.max(most, running);
        return new Promise((_resolve, reject) => {
          ends.push(() => {
            running -= 1;
            reject(new Error('no'));
          });
        });
      },
    });
    const asked = Array.from({ length: 100 }, (_, i) =>
      resolve(`n${i}.example`, { accountId: 'facct_1', webhookId: `fwh_${i}` }).catch(() => undefined),
    );
    for (let ended = 0; ended < 100; ended++) {
      await waitUntil(() => ends.length > ended);
      if (ended === 0) expect(most).toBe(16);
      if (ended === 80) most = 0;
      ends[ended]?.();
    }
    await Promise.all(asked);
    expect(most).toBe(1);
  });

  it('keeps a name that was found before the account’s failures on its way', async () => {
    let now = 0;
    const known = new Set(['good.example']);
    const resolve = nameResolver({
      now: () => now,
      lookUp: async (host) => {
        if (known.has(host)) return { addresses: ['203.0.114.1'], ttlMs: 0 };
        if (host.startsWith('stuck')) return new Promise(() => undefined);
        throw new Error('no');
      },
    });
    await resolve('good.example', asker);
    for (let i = 0; i < 60; i++) {
      await resolve(`n${i}.example`, { ...asker, webhookId: `fwh_${i}` }).catch(() => undefined);
    }
    void resolve('stuck.example', { ...asker, webhookId: 'fwh_stuck' });
    now = 2_000;
    expect(await resolve('good.example', asker)).toEqual(['203.0.114.1']);
  });

  it('keeps 512 look-ups waiting, and refuses further ones [D14.314]', async () => {
    const asked: string[] = [];
    const resolve = nameResolver({
      lookUp: (host) => {
        asked.push(host);
        return new Promise(() => undefined);
      },
    });
    const endpoints = Array.from({ length: 1_000 }, (_, i) => ({ accountId: 'facct_1', webhookId: `fwh_${i}` }));
    const reasons = endpoints.map((endpoint, i) => reasonOf(resolve(`n${i}.example`, endpoint)));
    expect(new Set(await Promise.all(reasons.slice(528)))).toEqual(
      new Set(['the host was not resolved (too many look-ups)']),
    );
    expect(asked).toEqual(Array.from({ length: 16 }, (_, i) => `n${i}.example`));
    expect(await Promise.race([...reasons.slice(0, 528), 'all wait'])).toBe('all wait');
  });

  it('finds the names of a thousand endpoints whose requests are in flight together, and asks for each once [D14.314]', async () => {
    const asked: string[] = [];
    const resolve = nameResolver({
      lookUp: async (host) => {
        asked.push(host);
        return { addresses: ['203.0.114.1'], ttlMs: 60_000 };
      },
    });
    for (let times = 0; times < 2; times++) {
      // An account alone has 256 requests in flight.
      for (let from = 0; from < 1_000; from += 256) {
        const hosts = Array.from({ length: 256 }, (_, i) => `n${from + i}.example`).slice(0, 1_000 - from);
        const reasons = await Promise.all(
          hosts.map((host) => reasonOf(resolve(host, { accountId: 'facct_1', webhookId: host }))),
        );
        expect(new Set(reasons)).toEqual(new Set(['found']));
      }
    }
    expect(asked.length).toBe(1_000);
  });

  it('asks for a pending name once, however many others are asked for meanwhile [D14.314]', async () => {
    const asked: string[] = [];
    const silence = Promise.withResolvers<never>();
    const resolve = nameResolver({
      lookUp: async (host) => {
        asked.push(host);
        return host === 'silent.example' ? silence.promise : { addresses: ['203.0.114.1'], ttlMs: 60_000 };
      },
    });
    const first = reasonOf(resolve('silent.example', asker));
    for (let i = 0; i < 1_500; i++) await resolve(`n${i}.example`, asker);
    const second = reasonOf(resolve('silent.example', asker));
    expect(asked.filter((host) => host === 'silent.example')).toEqual(['silent.example']);
    silence.reject(new Error('no'));
    expect([await first, await second]).toEqual(['no', 'no']);
  });

  it('refuses a look-up that waits for its turn longer than an attempt can, and looks it up the next time [D14.314]', async () => {
    const silence = Promise.withResolvers<never>();
    const resolve = nameResolver({
      limits: { atOnce: 1, waitMs: 10 },
      lookUp: async (host) =>
        host === 'silent.example' ? silence.promise : { addresses: ['203.0.114.1'], ttlMs: 60_000 },
    });
    const first = reasonOf(resolve('silent.example', asker));
    expect(await reasonOf(resolve('shop.example', asker))).toBe('the host was not resolved (too many look-ups)');
    silence.reject(new Error('no'));
    expect(await first).toBe('no');
    expect(await resolve('shop.example', asker)).toEqual(['203.0.114.1']);
  });

  it('has a name that was found before take the place of one that was not [D14.314]', async () => {
    let now = 0;
    const silence = Promise.withResolvers<never>();
    const resolve = nameResolver({
      now: () => now,
      limits: { atOnce: 1, waiting: 1 },
      lookUp: async (host) => (host === 'silent.example' ? silence.promise : { addresses: ['203.0.114.1'], ttlMs: 0 }),
    });
    await resolve('good.example', asker);
    now = 2_000;
    const first = reasonOf(resolve('silent.example', asker));
    const other = reasonOf(resolve('other.example', asker));
    const good = resolve('good.example', asker);
    expect(await other).toBe('the host was not resolved (too many look-ups)');
    silence.reject(new Error('no'));
    expect([await first, await good]).toEqual(['no', ['203.0.114.1']]);
  });

  it('fails the names of an endpoint without asking after twenty failures in a minute [D14.134]', async () => {
    let asked = 0;
    const resolve = nameResolver({
      lookUp: async () => {
        asked += 1;
        throw new Error('no');
      },
    });
    for (let i = 0; i < 25; i++) await resolve(`n${i}.example`, asker).catch(() => undefined);
    expect(asked).toBe(20);
  });
});

describe('an account whose names never resolve', () => {
  it('delays no other account’s deliveries: they arrive within two seconds [D14.134]', async () => {
    const silence = Promise.withResolvers<never>();
    silence.promise.catch(() => undefined);
    let silent = 0;
    const byServer = lookUp();
    const resolver = nameResolver({
      lookUp(host) {
        if (!host.startsWith('silent')) return byServer(host);
        silent += 1;
        return silence.promise;
      },
    });
    const on = await openFixture({}, undefined, resolver);
    const shop = await receiver();
    // Another attacker each time: none of them has failed before, and none of the look-ups ends.
    const attack = async () => {
      const slow = someScope();
      const from = silent;
      for (let i = 0; i < 40; i++) await on.endpoint(slow, `http://silent${i}.example:9/`);
      for (let i = 0; i < 5; i++) await on.consume(refundEvent(slow));
      await waitUntil(() => silent >= from + 16);
    };
    const arrivalMs = async (host: string) => {
      server.names.set(host, ['127.0.0.1']);
      const other = someScope();
      await on.endpoint(other, shop.url.replace('127.0.0.1', host));
      const before = shop.received.length;
      const sentAt = performance.now();
      await on.consume(refundEvent(other));
      await waitUntil(() => shop.received.length > before, { everyMs: 5 });
      return performance.now() - sentAt;
    };
    const arrivals: number[] = [];
    for (const host of ['first.example', 'second.example', 'third.example']) {
      await attack();
      arrivals.push(await arrivalMs(host));
    }
    // One of three may fall into a pause of the machine.
    expect(arrivals.toSorted((one, other) => one - other)[1]).toBeLessThan(2_000);
    silence.reject(new Error('no'));
    await Promise.all([shop.close(), on.close()]);
  });
});

/** Why a look-up failed. */
function reasonOf(answer: Promise<unknown>): Promise<string> {
  return answer.then(
    () => 'found',
    (error: Error) => error.message,
  );
}
