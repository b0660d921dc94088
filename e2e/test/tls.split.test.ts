import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setInterval as every } from 'node:timers/promises';
import { type ComponentName, componentNames, serviceNames } from '@eligo/stack';
import { type Constellation, startConstellation, startReceiver, waitUntil } from '@eligo/testkit';
import { type TestCertificate, testAuthority, writeTestCertificate } from '@eligo/testkit/certificates';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stopWithBooks } from '../src/books.ts';
import { type EncryptedServers, startEncryptedServers } from '../src/encrypted-servers.ts';
import { internalPortOf, serialOf, shakeHands, speakPlainly } from '../src/internal-port.ts';
import { text } from '../src/records.ts';
import { make, newCard, newCustomer, openShop, type Shop, sellCart } from '../src/shop.ts';

const authority = testAuthority();
const stranger = testAuthority();
const folder = mkdtempSync(join(tmpdir(), 'eligo-tls-'));

/** Two folders for each component, so that its certificate for the others can be replaced alone. */
const folderOf = (component: ComponentName) => join(folder, component);
const natsFolderOf = (component: ComponentName) => join(folder, `${component}-nats`);

describe('each part of Eligo in a process of its own, with TLS between them, to Postgres and to NATS', () => {
  let servers: EncryptedServers;
  let eligo: Constellation;
  let shop: Shop;
  const installed = new Map<ComponentName, TestCertificate>();

  beforeAll(async () => {
    for (const name of componentNames) {
      install(name);
      writeTestCertificate(natsFolderOf(name), authority.issue([name]), [authority.certificate]);
    }
    servers = await startEncryptedServers(authority, folder);
    const ownNatsUrls = Object.fromEntries(
      componentNames.map((name) => [`${name.toUpperCase()}_NATS_URL`, servers.natsUrlOf(name)]),
    );
    eligo = await startConstellation({
      topology: 'split',
      postgres: servers.postgres,
      // A certificate that is taken over leaves a line.
      environment: { LOG_LEVEL: 'info', NATS_URL: servers.nats, ...ownNatsUrls },
      environmentOf: (name) => ({
        ELIGO_TLS_FOLDER: folderOf(name),
        ELIGO_NATS_TLS_FOLDER: natsFolderOf(name),
      }),
    });
  }, 120_000);
  afterAll(async () => {
    await stopWithBooks(eligo);
    await servers?.stop();
    rmSync(folder, { recursive: true });
  }, 60_000);

  function install(name: ComponentName, certificate = authority.issue([name])): void {
    installed.set(name, certificate);
    writeTestCertificate(folderOf(name), certificate, [authority.certificate]);
  }

  it('sells, refunds and delivers signed webhooks [D14.212, D14.213, D14.216, D14.368]', async () => {
    const receiver = await startReceiver();
    const events = ['checkout.session.completed', 'refund.created'];
    const webhook = await make(eligo.api(), '/v1/webhooks', 'webhook', { url: receiver.url, events });
    shop = await openShop(eligo.api());
    await sell();
    const verifier = new Webhook(text(webhook, 'signing_secret'));
    for (const event of events) {
      const { raw, headers, body } = await receiver.next(event);
      expect(verifier.verify(raw, headers)).toEqual(body);
    }
    await receiver.close();
    const sessions = await eligo.database.admin<{ role: string; ssl: boolean }>(
      `select distinct usename as role, ssl from pg_stat_activity join pg_stat_ssl using (pid)
        where usename like 'eligo%' order by 1`,
    );
    expect(sessions).toEqual(componentNames.map((name) => ({ role: `eligo_${name}`, ssl: true })).toSorted(byRole));
  });

  it.each(serviceNames)(
    'gives nothing at the internal port of %s to a client without TLS, without a certificate, or with one of another authority [D14.212, D14.368]',
    async (name) => {
      const port = internalPortOf(eligo, name);
      const shownBy = (own?: TestCertificate) => shakeHands(port, name, authority.certificate, own);
      expect(await shownBy(authority.issue(['gateway']))).toBe(serialOf(certificateOf(name)));
      expect(await shownBy()).toMatch(/^refused: .*certificate required/);
      expect(await shownBy(stranger.issue(['gateway']))).toMatch(/^refused: /);
      expect((await speakPlainly(port)).toString('hex')).toBe('');
    },
  );

  it('does not call a service with a certificate of another authority, and sells without it [D14.212, D14.368]', async () => {
    install('webhooks', stranger.issue(['webhooks']));
    // Its connections from before would go on for two minutes.
    await eligo.restart('webhooks');
    const answer = await eligo.api().get('/v1/webhooks');
    expect(answer).toMatchObject({ status: 503, body: { code: 'service_unavailable' } });
    const { checks } = (await (await fetch(`${eligo.adminOf('gateway')}/readyz`)).json()) as { checks: object };
    expect(checks).toMatchObject({ webhooks: 'failed', checkout: 'ok' });
    await sell();
  });

  it('takes over new certificates of all components under load, and no request fails [D14.212, D14.368]', async () => {
    const load = sellSteadily();
    for (const name of componentNames) install(name);
    const tookOver = (name: string) => logOf(name).includes('Took over a new TLS certificate');
    await waitUntil(() => componentNames.every(tookOver), { what: 'the new certificates in every component' });
    for (const name of serviceNames) {
      const shown = await shakeHands(
        internalPortOf(eligo, name),
        name,
        authority.certificate,
        certificateOf('gateway'),
      );
      expect(shown).toBe(serialOf(certificateOf(name)));
    }
    // The gateway has no connection to this one from before.
    await waitUntil(async () => (await eligo.api().get('/v1/webhooks')).status === 200, {
      what: 'the gateway’s new connection',
    });
    await waitUntil(() => load.sold() + load.failures.length > 3, { what: 'four sales' });
    await load.stop();
    expect(load.failures).toEqual([]);
  });

  function certificateOf(name: ComponentName): TestCertificate {
    return installed.get(name) ?? expect.fail(`${name} has no certificate`);
  }

  function logOf(name: string): string {
    return readFileSync(join(eligo.home.logs, `${name}.log`), 'utf8');
  }

  async function sell(): Promise<void> {
    const api = eligo.api();
    const customer = await newCustomer(api);
    await sellCart(api, shop, customer, await newCard(api, customer, 'hsa'));
  }

  /** A sale every second, whose requests are not retried. */
  function sellSteadily() {
    const ending = new AbortController();
    const failures: string[] = [];
    let sold = 0;
    const run = async () => {
      for await (const _ of every(1_000, undefined, { signal: ending.signal })) {
        await sell().then(
          () => {
            sold += 1;
          },
          (error) => failures.push(String(error)),
        );
      }
    };
    const running = run().catch((error) => {
      if (!ending.signal.aborted) throw error;
    });
    return {
      sold: () => sold,
      failures,
      async stop() {
        ending.abort();
        await running;
      },
    };
  }
});

function byRole(one: { role: string }, other: { role: string }): number {
  return one.role < other.role ? -1 : 1;
}
