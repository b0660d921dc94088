import {
  type ProbeTarget,
  probeAnswers,
  probeAuthentication,
  probeBadInput,
  probeForeignRecords,
  probeMetadata,
  probeScopes,
  seedRecords,
} from '@eligo/gateway/probes';
import type { Constellation } from '@eligo/testkit';
import { beforeAll, describe, expect, it } from 'vitest';
import { records, text } from '../src/records.ts';
import { runCli } from '../src/run-cli.ts';

/**
 * What holds for every route of the contract, shown on the whole of Eligo with a real record of every kind. Each `badInputEvery`-th bad request of
 * the corpus is sent. The Eligo must not limit failed authentication.
 */
export function describeProbes(started: () => Constellation, badInputEvery: number): void {
  describe('every route', () => {
    let eligo: Constellation;
    let target: ProbeTarget;

    beforeAll(async () => {
      eligo = started();
      await runCli(eligo, ['accounts', 'update', eligo.account, '--feature', 'receipts']);
      const unlimited = ['--mode', 'test', '--rate-limit', '0'];
      const stranger = text(await runCli(eligo, ['accounts', 'create', '--name', 'A stranger']), 'account');
      const [foreign, scopeless] = await Promise.all([
        runCli(eligo, ['keys', 'create', '--account', stranger, ...unlimited]),
        runCli(eligo, ['keys', 'create', '--account', eligo.account, ...unlimited, '--scopes', 'charges_write']),
      ]);
      target = {
        url: eligo.url,
        testKey: eligo.testApiKey,
        liveKey: eligo.liveApiKey,
        foreignKey: text(foreign, 'api_key'),
        scopelessKey: text(scopeless, 'api_key'),
        ...(await seedRecords(eligo.url, eligo.testApiKey, { receipts: true })),
      };
    }, 180_000);
    // A probe that writes ends the records that it names.
    const seededAnew = async () => ({
      ...target,
      ...(await seedRecords(eligo.url, eligo.testApiKey, { receipts: true })),
    });

    it('refuses a missing, malformed and unknown key by one 401', async () => {
      expect((await probeAuthentication(target)).problems).toEqual([]);
    });

    it('refuses a key without its scope, and a test helper a live key, by 403', async () => {
      expect((await probeScopes(target)).problems).toEqual([]);
    });

    it('answers the owner of a record and refuses another account and the other mode by the 404 of no such record', async () => {
      expect((await probeForeignRecords(await seededAnew())).problems).toEqual([]);
    });

    it('answers what its schema says, strictly, with and without everything expanded', async () => {
      expect((await probeAnswers(await seededAnew())).problems).toEqual([]);
    });

    it('puts the metadata of an update in the place of what was there, and empties it by {} and [] [D4.6]', async () => {
      const { problems, requests } = await probeMetadata(await seededAnew());
      expect(problems).toEqual([]);
      expect(requests).toBeGreaterThanOrEqual(9 * 8);
    });

    it('never gives a 5xx for bad input, and refuses it in the contract’s shape', async () => {
      const { problems, requests } = await probeBadInput(await seededAnew(), { every: badInputEvery });
      expect(problems).toEqual([]);
      expect(requests).toBeGreaterThan(2_000 / badInputEvery);
    }, 240_000);

    it('leaves nothing half-written behind: the other account still has nothing', async () => {
      for (const path of ['prices', 'products', 'customers', 'refunds', 'subscriptions']) {
        const list = await eligo.api(target.foreignKey).ok('GET', `/v1/${path}`);
        expect(records(list, path)).toEqual([]);
      }
    });
  });
}
