import { randomBytes } from 'node:crypto';
import { generateProofKey, type Login, signLogin } from '@eligo/rpc';
import { openKeyring } from '@eligo/service';
import { secretsOf } from '@eligo/stack';
import { type Constellation, startConstellation, waitUntil } from '@eligo/testkit';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { consumptions } from '../src/components.ts';
import { runCommandLine } from '../src/index.ts';
import { deadLetterTests } from './dead-letters.ts';
import { resendTests } from './resent-accounts.ts';

vi.setConfig({ hookTimeout: 120_000, testTimeout: 60_000 });

let constellation: Constellation;

beforeAll(async () => {
  constellation = await startConstellation({ topology: 'in-process' });
  vi.stubEnv('ELIGO_HOME', constellation.home.root);
});

afterAll(async () => {
  vi.unstubAllEnvs();
  await constellation.stop();
});

const admin = <Row extends object>(text: string, values: unknown[] = []) =>
  constellation.database.admin<Row>(text, values);

async function eligo(...args: string[]) {
  const out: string[] = [];
  const err: string[] = [];
  const code = await runCommandLine(args, { out: (text) => out.push(text), err: (text) => err.push(text) });
  return { code, out, err };
}

async function json(...args: string[]): Promise<{ code: number; answer: Record<string, unknown> }> {
  const { code, out, err } = await eligo(...args, '--json');
  expect({ err, lines: out.length }).toEqual({ err: [], lines: 1 });
  return { code, answer: JSON.parse(out[0] ?? '') as Record<string, unknown> };
}

// An event that webhooks has dealt with, and what it did with it.
async function someEvent(): Promise<{ id: string; deliveries: () => Promise<number> }> {
  const { customer } = (await constellation.api().ok('POST', '/v1/customers', {
    body: { customer: { first_name: 'Ratemary', email: `${randomBytes(4).toString('hex')}@example.test` } },
  })) as { customer: { customer_id: string } };
  const id = await waitUntil(async () => {
    const [row] = await admin<{ event_id: string }>(
      'select event_id from checkout.outbox join webhooks.inbox using (event_id) where aggregate_id = $1',
      [customer.customer_id],
    );
    return row?.event_id;
  });
  const deliveries = async () => {
    const [row] = await admin<{ n: number }>('select count(*)::int as n from webhooks.events where id = $1', [id]);
    return row?.n ?? 0;
  };
  return { id, deliveries };
}

// As after twenty failures: put aside, and not dealt with.
async function makeDead(id: string): Promise<void> {
  await admin(
    `insert into webhooks.dead_letters (consumer, event_id, type, account_id, test_mode, payload, error, deliveries)
     select 'public-events', event_id, type, account_id, test_mode, payload, 'TypeError', 20
       from checkout.outbox where event_id = $1`,
    [id],
  );
  await admin("delete from webhooks.inbox where consumer = 'public-events' and event_id = $1", [id]);
  await admin('delete from webhooks.deliveries where event_id = $1', [id]);
  await admin('delete from webhooks.events where id = $1', [id]);
}

resendTests(() => constellation, json);

deadLetterTests({ admin, eligo, json, someEvent, makeDead });

describe('events', () => {
  it('which events each consumer takes is known to the command line', () => {
    expect(consumptions().every(({ types }) => types.length > 0)).toBe(true);
  });

  it('that a consumer is missing are found, republished once they are old enough, and handled once', async () => {
    const one = await someEvent();
    expect(await json('events', 'missing')).toEqual({ code: 0, answer: { missing: [] } });
    await makeDead(one.id);
    await admin('delete from webhooks.dead_letters');
    await admin("update checkout.outbox set created_at = created_at - interval '6 minutes' where event_id = $1", [
      one.id,
    ]);
    const found = await json('events', 'missing', '--from', 'checkout');
    expect(found).toMatchObject({
      code: 1,
      answer: { missing: [{ service: 'webhooks', consumer: 'public-events', from: 'checkout', event_id: one.id }] },
    });
    expect(await json('events', 'republish', '--missing')).toMatchObject({
      code: 1,
      answer: { republished: [], too_recent: [one.id] },
    });
    await admin("update checkout.outbox_positions set ended_at = ended_at - interval '3 minutes'");
    expect(await json('events', 'republish', '--event', one.id, '--from', 'checkout')).toEqual({
      code: 0,
      answer: { republished: [one.id], too_recent: [], gone: [] },
    });
    expect(await json('events', 'republish', '--event', 'fevt_x', '--from', 'checkout')).toMatchObject({
      code: 1,
      answer: { gone: ['fevt_x'] },
    });
    expect((await json('events', 'repairs')).answer).toEqual({ repairs: [] });
    await expect(eligo('events', 'republish')).resolves.toMatchObject({ code: 2 });
  });
});

describe('streams', () => {
  it('are rebuilt from the outboxes after a restore of Postgres, while the services run [D14.217]', async () => {
    const one = await someEvent();
    const rebuilt = await json('events', 'rebuild-streams', '--service', 'checkout');
    expect(rebuilt).toEqual({ code: 0, answer: { services: ['checkout'] } });
    // Publishing finds the stream gone, and the repair publishes what the outbox holds. The consumers have handled all but the new one.
    const another = await someEvent();
    const finished = async () => {
      const { repairs } = (await json('events', 'repairs', '--service', 'checkout')).answer as {
        repairs: Record<string, unknown>[];
      };
      return repairs.length === 1 && repairs[0]?.finished_at !== null && repairs[0];
    };
    expect(await waitUntil(finished, { withinMs: 45_000, what: 'the rebuilt stream' })).toMatchObject({
      service: 'checkout',
      how: 'missing',
    });
    expect(await Promise.all([one, another].map(({ deliveries }) => deliveries()))).toEqual([1, 1]);
    expect(await json('events', 'missing')).toEqual({ code: 0, answer: { missing: [] } });
  });
});

describe('sealed secrets', () => {
  it('are resealed under the first key, sign as before, and need no second run', async () => {
    const made: string[] = [];
    for (const path of ['a', 'b', 'c']) {
      const { webhook } = (await constellation.api().ok('POST', '/v1/webhooks', {
        body: { webhook: { url: `http://127.0.0.1:9/${path}`, events: ['product.updated'] } },
      })) as { webhook: { webhook_id: string; signing_secret: string } };
      made.push(webhook.signing_secret);
    }
    const before = secretsOf(constellation.home).keyring;
    const rotated = `k2:${randomBytes(32).toString('base64')},${before}`;
    vi.stubEnv('ELIGO_KEYRING', rotated);
    const total = made.length;
    expect(await json('secrets', 'reseal')).toEqual({
      code: 0,
      answer: {
        ...{ total, resealed: total, current: 0, changed_meanwhile: 0, unopened: [] },
        letter_answers: { total: 0, resealed: 0, unopened: [] },
      },
    });
    expect(await json('secrets', 'reseal')).toMatchObject({ code: 0, answer: { resealed: 0, current: total } });
    const rows = await admin<{ account_id: string; sealed: string }>(
      'select account_id, sealed from webhooks.endpoint_secrets order by endpoint_id',
    );
    const onlyNew = openKeyring(rotated.split(',')[0] ?? '');
    const opened = rows.map((row) => onlyNew.open(row.sealed, `webhooks.endpoint_secrets ${row.account_id} test`));
    expect(opened).toEqual(made);
    // A ring without the key that they are under now opens none: said, and nothing is lost.
    vi.stubEnv('ELIGO_KEYRING', `k3:${randomBytes(32).toString('base64')}`);
    const lost = await json('secrets', 'reseal');
    expect({ code: lost.code, unopened: (lost.answer.unopened as string[]).length }).toEqual({
      code: 1,
      unopened: total,
    });
    expect(await admin('select sealed from webhooks.endpoint_secrets order by endpoint_id')).toEqual(
      rows.map(({ sealed }) => ({ sealed })),
    );
    vi.stubEnv('ELIGO_KEYRING', before);
    await admin('delete from webhooks.endpoint_secrets');
  });
});

describe('reports reconciliation', () => {
  const days = ['--from', '2026-01-01', '--to', '2026-01-02'];

  it('prints the days as CSV line by line, and with --json as JSON [D14.163]', async () => {
    const { code, out } = await eligo('reports', 'reconciliation', ...days);
    expect({ code, head: out[0] }).toEqual({ code: 0, head: expect.stringMatching(/^date,row,/) });
    expect(out.slice(1).map((row) => row.split(',').slice(0, 2))).toEqual([
      ['2026-01-01', 'balance'],
      ['2026-01-02', 'balance'],
    ]);
    const { answer } = await json('reports', 'reconciliation', ...days);
    expect(answer).toMatchObject({ reconciliation: { days: [{ date: '2026-01-01' }, { date: '2026-01-02' }] } });
  });

  it('says what is wrong with the days, with exit code 1', async () => {
    for (const form of [[], ['--json']]) {
      const wrong = await eligo('reports', 'reconciliation', '--from', '2026-02-30', ...form);
      expect(wrong).toMatchObject({ code: 1, err: [expect.stringMatching(/returned 422: .*"from"/)] });
    }
  });
});

/** A login as an earlier release made it, signed by the same key. */
function withoutKey(token: string): string {
  const { proofKey: _, ...old } = JSON.parse(Buffer.from(token.split('.')[0] ?? '', 'base64url').toString()) as Login;
  return signLogin(old as Login, secretsOf(constellation.home).operatorKey);
}

describe('operators', () => {
  const body = '{"page":{"limit":1}}';
  // What the tool prints for one call, in the form that `curl -H @-` reads.
  const headersFor = async (method: string) => {
    const { out } = await eligo('operator', 'headers', method, '--account', constellation.account, '--body', body);
    return Object.fromEntries(out.map((line) => line.split(': '))) as Record<string, string>;
  };
  const send = async (component: string, method: string, headers: Record<string, string>) => {
    const service = `${component.charAt(0).toUpperCase()}${component.slice(1)}Service`;
    const url = new URL(`/eligo.${component}.v1.${service}/${method}`, constellation.adminOf(component));
    const response = await fetch(url, { method: 'POST', headers, body });
    return { status: response.status, requestId: response.headers.get('request-id') };
  };
  const actAs = ({ token = '', proof_key = '' }: Record<string, unknown>) => {
    vi.stubEnv('ELIGO_OPERATOR_TOKEN', String(token));
    vi.stubEnv('ELIGO_OPERATOR_PROOF_KEY', String(proof_key));
  };
  const audit = async (...args: string[]) =>
    (await json('audit', 'list', ...args)).answer.actions as Record<string, unknown>[];

  it('log in by a personal credential; each action on an admin port is a row of the audit log [D14.196, D14.197]', async () => {
    const { operator_id, credential } = (await json('operators', 'add', '--name', 'Ada Lovelace')).answer;
    vi.stubEnv('ELIGO_OPERATOR_CREDENTIAL', String(credential));
    const { code, answer: login } = await json('operator', 'login');
    expect({ code, allows: login.allows, name: login.name }).toEqual({
      code: 0,
      allows: ['reads'],
      name: 'Ada Lovelace',
    });
    actAs(login);
    const headers = await headersFor('catalog.ListPrices');
    expect(JSON.stringify(headers)).not.toContain(String(login.proof_key));
    const listed = await send('catalog', 'ListPrices', headers);
    expect(listed.status).toBe(200);
    // Whoever saw the call on its way can send it again.
    expect((await send('catalog', 'ListPrices', headers)).status).toBe(401);
    expect((await send('catalog', 'CreatePrice', await headersFor('catalog.CreatePrice'))).status).toBe(403);
    // As catalog could, if it was taken over: the login allows the call, and is not catalog's to make.
    expect((await send('billing', 'ListSubscriptions', headers)).status).toBe(401);
    expect((await send('billing', 'ListSubscriptions', await headersFor('billing.ListSubscriptions'))).status).toBe(
      200,
    );
    actAs({});
    expect(await audit('--operator', 'Ada Lovelace')).toMatchObject([
      { service: 'billing', operator_id, action: 'billing.ListSubscriptions', refused: false },
      { service: 'catalog', operator_id, action: 'catalog.CreatePrice', refused: true },
      {
        refused: false,
        ...{ service: 'catalog', operator_id, action: 'catalog.ListPrices', account_id: constellation.account },
        ...{ mode: 'test', request_id: listed.requestId },
      },
      { service: 'gateway', operator_id, action: 'operator login' },
    ]);

    expect((await eligo('operators', 'revoke', String(operator_id))).code).toBe(0);
    expect(await eligo('operator', 'login')).toMatchObject({ code: 2, err: [expect.stringContaining('revoked')] });
    const { operators } = (await json('operators', 'list')).answer;
    expect(operators).toMatchObject([{ operator_id, name: 'Ada Lovelace', revoked_at: expect.any(String) }]);
    expect(JSON.stringify(operators)).not.toContain(String(credential));
    vi.stubEnv('ELIGO_OPERATOR_CREDENTIAL', '');
  });

  it('leave a row in each schema that they migrate [D14.197]', async () => {
    expect((await eligo('migrate')).code).toBe(0);
    const rows = await audit('--limit', '6');
    const services = ['billing', 'catalog', 'checkout', 'gateway', 'refunds', 'webhooks'];
    expect(rows.map(({ service, action }) => `${service} ${action}`).toSorted()).toEqual(
      services.map((service) => `${service} migrate`),
    );
  });

  it('leave a row for each command that changes something, in the name of their login if they have one [D14.197]', async () => {
    const { credential } = (await json('operators', 'add', '--name', 'Grace Hopper')).answer;
    const account = constellation.account;
    const create = ['keys', 'create', '--account', account, '--mode', 'test'] as const;
    const asUser = (await json(...create)).answer;
    vi.stubEnv('ELIGO_OPERATOR_CREDENTIAL', String(credential));
    const allowed = ['--allow', 'keys revoke', '--allow', 'reads'];
    const login = (await json('operator', 'login', ...allowed, '--for', '5m')).answer;
    const { token, proof_key } = login;
    actAs(login);
    try {
      expect(await eligo(...create)).toMatchObject({
        code: 2,
        err: [expect.stringContaining('Your login does not allow this command; log in with --allow "keys create"')],
      });
      await json('keys', 'list', '--account', account);
      await json('keys', 'revoke', String(asUser.key_id));
      actAs({ ...login, token: `${String(token).slice(0, -4)}AAAA` });
      expect(await eligo(...create)).toMatchObject({
        code: 2,
        err: [expect.stringContaining('is not of this installation')],
      });
      const again = 'run operator login again, and set both';
      for (const key of ['', 'none', generateProofKey().privateKey]) {
        actAs({ token, proof_key: key });
        expect(await eligo(...create)).toMatchObject({ code: 2, err: [expect.stringContaining(again)] });
      }
      actAs({ ...login, token: withoutKey(String(token)) });
      expect(await eligo(...create)).toMatchObject({ code: 2, err: [expect.stringContaining('run operator login')] });
    } finally {
      actAs({});
      vi.stubEnv('ELIGO_OPERATOR_CREDENTIAL', '');
    }
    const rows = await audit('--service', 'gateway', '--limit', '6');
    expect(rows.map(({ action, refused }) => `${action}${refused ? ' refused' : ''}`)).toEqual([
      ...['keys revoke', 'keys list', 'keys create refused', 'operator login', 'keys create', 'operators add'],
    ]);
    expect(rows[0]).toMatchObject({ operator_name: 'Grace Hopper', subject_id: asUser.key_id });
    expect(rows[4]).toMatchObject({
      ...{ operator_id: null, operator_name: expect.stringMatching(/^user ./) },
      ...{ account_id: account, mode: 'test' },
    });
    for (const secret of [credential, token, proof_key, asUser.key])
      expect(JSON.stringify(rows)).not.toContain(String(secret));
  });

  it('run a command that only reads by a login that allows reads, or the command by its name, and leave a row where it does not [D14.390]', async () => {
    const { credential } = (await json('operators', 'add', '--name', 'Mary Jackson')).answer;
    vi.stubEnv('ELIGO_OPERATOR_CREDENTIAL', String(credential));
    const logIn = async (...allowed: string[]) => {
      actAs({});
      actAs((await json('operator', 'login', ...allowed.flatMap((name) => ['--allow', name]))).answer);
    };
    const reads = ['accounts list', 'operators list', 'audit list', 'events repairs', 'events missing', 'ledger check'];
    try {
      await logIn('checkout.DecideLetter', 'ledger reread');
      for (const command of reads) {
        expect(await eligo(...command.split(' ')), command).toMatchObject({
          code: 2,
          out: [],
          err: [expect.stringContaining('Your login does not allow this command; log in with --allow reads')],
        });
      }
      // To log in again takes no permission of the login before.
      expect((await eligo('operator', 'login')).code).toBe(0);
      await logIn('operators list');
      expect((await eligo('operators', 'list')).code).toBe(0);
      expect((await eligo('accounts', 'list')).code).toBe(2);
      await logIn('reads');
      for (const command of reads) expect((await eligo(...command.split(' '))).code, command).toBe(0);
      expect(await eligo('ledger', 'check', '--processor')).toMatchObject({
        code: 2,
        err: [expect.stringContaining('log in with --allow "ledger check"')],
      });
      await logIn('ledger check');
      expect((await eligo('ledger', 'check', '--processor')).code).toBe(0);
    } finally {
      actAs({});
      vi.stubEnv('ELIGO_OPERATOR_CREDENTIAL', '');
    }
    const rows = await audit('--operator', 'Mary Jackson');
    const of = (service: string, action: string) =>
      rows.filter((row) => row.service === service && row.action === action).map(({ refused }) => refused);
    expect(of('gateway', 'accounts list')).toEqual([false, true, true]);
    // Those that show no account's records leave a row when they are refused.
    expect(of('gateway', 'operators list')).toEqual([true]);
    expect([of('checkout', 'ledger check'), of('refunds', 'ledger check')]).toEqual([[false, true, true], [false]]);
  });

  it('leave a row for each command that shows records of accounts, in each schema that it reads [D14.350]', async () => {
    const { id } = await someEvent();
    await makeDead(id);
    const commands = [`keys list --account ${constellation.account}`, 'accounts list', 'dead-letters list'];
    for (const command of [...commands, `dead-letters show ${id}`]) await json(...command.split(' '));
    const gateway = await audit('--service', 'gateway', '--limit', '4');
    expect(gateway.map(({ action, account_id, subject_id }) => [action, account_id, subject_id])).toEqual([
      ['dead-letters show', null, id],
      ['dead-letters list', null, null],
      ['accounts list', null, null],
      ['keys list', constellation.account, null],
    ]);
    const webhooks = await audit('--service', 'webhooks', '--limit', '2');
    expect(webhooks.map(({ action }) => action)).toEqual(['dead-letters show', 'dead-letters list']);
    for (const command of ['events repairs', 'operators list', 'reviewers list']) await json(...command.split(' '));
    expect(await audit('--service', 'gateway', '--limit', '4')).toEqual(gateway);
    await json('dead-letters', 'redrive', '--event', id);
  });

  it.each([
    [['operator', 'login'], 'Set ELIGO_OPERATOR_CREDENTIAL'],
    [['audit', 'list', '--limit', '0'], '--limit must be 1 to 1000'],
    [['operators', 'revoke', 'foper_none'], 'There is no such operator'],
    [['operator', 'headers', 'catalog.ListPrices'], 'ELIGO_OPERATOR_TOKEN is not set; run operator login'],
    [['operator', 'headers', 'ListPrices'], 'Invalid method "ListPrices"; use catalog.ListPrices'],
  ])('are told what is wrong: %s', async (args, message) => {
    expect(await eligo(...args)).toMatchObject({ code: 2, err: [expect.stringContaining(message)] });
  });
});
