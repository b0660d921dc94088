import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { type Constellation, startConstellation, waitUntil } from '@eligo/testkit';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { runCommandLine } from '../src/index.ts';
import { erasureTests, type Said } from './erasures.ts';

vi.setConfig({ hookTimeout: 120_000, testTimeout: 60_000 });

let constellation: Constellation;

// The commands find the stack as a person's would: by the files of its home.
beforeAll(async () => {
  constellation = await startConstellation({ topology: 'in-process' });
  vi.stubEnv('ELIGO_HOME', constellation.home.root);
});

afterAll(async () => {
  vi.unstubAllEnvs();
  await constellation.stop();
});

async function eligo(...args: string[]): Promise<Said> {
  const out: string[] = [];
  const err: string[] = [];
  const code = await runCommandLine(args, { out: (text) => out.push(text), err: (text) => err.push(text) });
  return { code, out, err };
}

async function json(...args: string[]): Promise<Record<string, unknown>> {
  const { code, out, err } = await eligo(...args, '--json');
  expect({ code, err, lines: out.length }).toEqual({ code: 0, err: [], lines: 1 });
  return JSON.parse(out[0] ?? '') as Record<string, unknown>;
}

erasureTests(() => constellation, eligo);

const listPrices = async (key: unknown) => (await constellation.api(String(key)).get('/v1/prices')).status;

it('creates an account with keys of both modes that work at once [D2.6]', async () => {
  const made = await json('accounts', 'create', '--name', 'Shop', '--feature', 'food_eligibility');
  expect(made).toEqual({
    account: expect.stringMatching(/^facct_/),
    test_api_key: expect.stringMatching(/^fsk_test_/),
    live_api_key: expect.stringMatching(/^fsk_[^_]+$/),
  });
  expect([await listPrices(made.test_api_key), await listPrices(made.live_api_key)]).toEqual([200, 200]);
});

it('reads URLs and keys from files, and says which file it cannot read [D14.138]', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'eligo-cli-'));
  const file = (name: string, text: string) => {
    writeFileSync(join(folder, name), `${text}\n`, { mode: 0o600 });
    return join(folder, name);
  };
  // Nothing of the running stack: a home without one.
  vi.stubEnv('ELIGO_HOME', folder);
  vi.stubEnv('GATEWAY_DATABASE_URL_FILE', file('database', constellation.database.urlOf('gateway')));
  vi.stubEnv('ELIGO_URL', constellation.url);
  vi.stubEnv('ELIGO_API_KEY_FILE', file('key', constellation.testApiKey));
  try {
    expect(await json('accounts', 'create', '--name', 'By file')).toMatchObject({ account: expect.any(String) });
    expect((await eligo('reports', 'reconciliation', '--from', '2026-01-01', '--to', '2026-01-01')).code).toBe(0);
    vi.stubEnv('GATEWAY_DATABASE_URL_FILE', join(folder, 'none'));
    expect(await eligo('accounts', 'create', '--name', 'Nowhere')).toMatchObject({
      code: 1,
      err: [expect.stringContaining('GATEWAY_DATABASE_URL_FILE names a file that cannot be read')],
    });
  } finally {
    for (const name of ['GATEWAY_DATABASE_URL_FILE', 'ELIGO_URL', 'ELIGO_API_KEY_FILE']) vi.stubEnv(name, '');
    vi.stubEnv('ELIGO_HOME', constellation.home.root);
    rmSync(folder, { recursive: true });
  }
});

it('turns features of an account on and off, and puts it into an organization', async () => {
  const { account } = await json('accounts', 'create', '--name', 'Shop');
  const { organization } = await json('organizations', 'create', '--name', 'Shops');
  expect(organization).toMatch(/^forg_/);
  const on = await json(
    'accounts',
    'update',
    String(account),
    '--feature',
    'refund_payment_methods',
    '--organization',
    String(organization),
  );
  expect(on.account).toMatchObject({ features: ['refund_payment_methods'], organization_id: organization });
  const off = await json('accounts', 'update', String(account), '--no-feature', 'refund_payment_methods');
  expect(off.account).toMatchObject({ features: [], organization_id: organization });
});

it('issues a key with scopes, rolls it with an overlap, and revokes the old one', async () => {
  const { account } = await json('accounts', 'create', '--name', 'Shop');
  const first = await json(
    'keys',
    'create',
    '--account',
    String(account),
    '--mode',
    'test',
    '--scopes',
    'prices_read,files:read',
  );
  expect(first).toMatchObject({ mode: 'test', scopes: ['prices_read', 'files_read'] });
  const second = await json('keys', 'roll', String(first.key_id), '--overlap', '1h');
  expect(second).toMatchObject({ mode: 'test', scopes: ['prices_read', 'files_read'] });
  expect([await listPrices(first.api_key), await listPrices(second.api_key)]).toEqual([200, 200]);
  await json('keys', 'revoke', String(first.key_id));
  await waitUntil(async () => (await listPrices(first.api_key)) === 401);
  expect(await listPrices(second.api_key)).toBe(200);
  const { keys } = await json('keys', 'list', '--account', String(account));
  expect(keys).toHaveLength(4);
});

it('finds nothing left to migrate in a running stack', async () => {
  await expect(json('migrate', '--service', 'catalog')).resolves.toEqual({ applied: { catalog: [] } });
});

it('causes an event by what it follows from, and delivers it again when asked', async () => {
  const { session } = await json('trigger', 'checkout.session.completed');
  const found = await constellation.api().get(`/v1/checkout/sessions/${session}`);
  expect(found.body).toMatchObject({ checkout_session: { status: 'complete' } });
  const event = await waitUntil(async () => {
    const { body } = await constellation.api().get('/v1/events?limit=100');
    const events = (body.events ?? []) as { event_id: string; event_type: string }[];
    return events.find(({ event_type: type }) => type === 'checkout.session.completed');
  });
  await expect(json('webhooks', 'replay', event.event_id)).resolves.toEqual({
    event_id: event.event_id,
    event_type: 'checkout.session.completed',
  });
});

it('writes new secrets to a file for its owner alone, and never over another [D14.138]', async () => {
  const file = join(mkdtempSync(join(tmpdir(), 'eligo-init-')), '.env');
  await json('secrets', 'init', '--file', file);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  const text = readFileSync(file, 'utf8');
  expect(text).toMatch(/^ELIGO_KEYRING='k1:[^']{44}'$/m);
  expect(await eligo('secrets', 'init', '--file', file)).toMatchObject({ code: 2 });
  expect(readFileSync(file, 'utf8')).toBe(text);
});

it('prints secrets that are new each time', async () => {
  const [one, other] = [await json('secrets', 'generate'), await json('secrets', 'generate')];
  expect(Object.keys(one)).toEqual(Object.keys(other));
  expect(Object.entries(one).filter(([name, value]) => other[name] === value)).toEqual([]);
});

it('says what is wrong with a request in words, and exits with 2', async () => {
  await expect(eligo('keys', 'create', '--mode', 'test')).resolves.toMatchObject({
    code: 2,
    out: [],
    err: [expect.stringContaining('--account is required')],
  });
  await expect(eligo('keys', 'revoke')).resolves.toMatchObject({
    code: 2,
    err: [expect.stringContaining('KEY_ID is required')],
  });
  await expect(eligo('accounts', 'create', '--nome', 'x')).resolves.toMatchObject({ code: 2 });
  await expect(eligo('trigger', 'nothing.known')).resolves.toMatchObject({ code: 2 });
  await expect(eligo('nonsense')).resolves.toMatchObject({ code: 2 });
});

it('says what was refused, and exits with 1', async () => {
  const unknown = await eligo('keys', 'create', '--account', 'facct_unknown', '--mode', 'test');
  expect(unknown).toMatchObject({ code: 1, out: [] });
  expect(unknown.err.join()).toContain('No such account');
});

it('imports a product-code list, changes nothing by the same list, and an item is then eligible by its code', async () => {
  const file = join(constellation.home.root, 'codes.csv');
  writeFileSync(
    file,
    'code,hsa_fsa_eligibility,label\n036000291452,auto_substantiation,Bandages\n036000291453,vision,Wrong digit\n',
  );
  const first = await json('product-codes', 'import', file, '--name', 'a test list');
  expect(first).toMatchObject({ version: 1, is_new: true, total: 1, added: 1, rejected: 1, rejections: [{ line: 3 }] });
  expect(await json('product-codes', 'import', file)).toMatchObject({
    version: 1,
    is_new: false,
    effective_at: first.effective_at,
    added: 0,
    changed: 0,
  });
  const answer = await constellation
    .api()
    .ok('POST', '/v1/eligibility', { body: { items: [{ upc_code: '036000291452' }] } });
  expect(answer.items).toMatchObject([{ hsa_fsa_eligibility: 'auto_substantiation' }]);
});

it('gives an account a food policy of its own', async () => {
  const file = join(constellation.home.root, 'policy.json');
  writeFileSync(
    file,
    JSON.stringify({ eligible_class: 'auto_substantiation', categories: { '*': { added_sugar_g: '5' } } }),
  );
  const account = ['--account', constellation.account, '--mode', 'test'];
  expect(await json('food-policies', 'set', file, ...account)).toEqual({ version: 1 });
  expect(await json('food-policies', 'set', file, ...account)).toEqual({ version: 2 });
  const unknown = await eligo('food-policies', 'set', file, '--account', 'facct_unknown', '--mode', 'test');
  expect(unknown).toMatchObject({ code: 1, err: [expect.stringContaining('No such account')] });
});

it('takes the list and the policy that its page shows', async () => {
  const page = readFileSync(new URL('../../docs/command-line.md', import.meta.url), 'utf8');
  const file = (language: string) => {
    const path = join(constellation.home.root, `sample.${language}`);
    writeFileSync(path, new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, 'ms').exec(page)?.[1] ?? '');
    return path;
  };
  expect(await json('product-codes', 'import', file('csv'))).toMatchObject({ total: 2, rejected: 0 });
  const account = ['--account', constellation.account, '--mode', 'test'];
  expect(await json('food-policies', 'set', file('json'), ...account)).toEqual({ version: 3 });
});

it('says how an account substantiates, and keeps who said so [D14.72]', async () => {
  const { account } = await json('accounts', 'create', '--name', 'Shop');
  const update = (...options: string[]) => json('accounts', 'update', String(account), ...options);
  expect((await update('--substantiation', 'medical_mcc', '--by', 'Ada Lovelace')).account).toMatchObject({
    substantiation: 'medical_mcc',
    substantiation_set_by: 'Ada Lovelace',
  });
  expect((await update('--substantiation', 'none')).account).toMatchObject({
    substantiation: null,
    substantiation_set_by: userInfo().username,
  });
  for (const options of [
    ['--substantiation', 'honest'],
    ['--by', 'Ada'],
  ]) {
    expect((await eligo('accounts', 'update', String(account), ...options)).code).toBe(2);
  }
});

it('sets what an account takes for the review of letters, and its time zone [D14.179, D14.376]', async () => {
  const { account } = await json('accounts', 'create', '--name', 'Shop', '--time-zone', 'UTC');
  const update = (...options: string[]) => json('accounts', 'update', String(account), ...options);
  expect((await update('--letter-fee', '1500')).account).toMatchObject({ letter_fee_cents: 1_500 });
  expect((await update('--letter-fee', '0')).account).toMatchObject({ letter_fee_cents: 0, time_zone: 'UTC' });
  expect((await update('--time-zone', 'US/Central')).account).toMatchObject({ time_zone: 'America/Chicago' });
  expect((await eligo('accounts', 'update', String(account), '--letter-fee', '15.00')).code).toBe(2);
});

it('sets what an account mails its customers, in both modes or in one [D14.192, D14.327]', async () => {
  const { account } = await json('accounts', 'create', '--name', 'Shop');
  const update = (...options: string[]) => eligo('accounts', 'update', String(account), ...options);
  const set = async (...options: string[]) =>
    (await json('accounts', 'update', String(account), ...options)).notices as unknown;
  const manageUrl = 'https://care.example/account';
  const care = { merchantName: 'Care & Co', reminderDays: 7, manageUrl, mailsInvoices: false };
  const all = ['--notice-name', 'Care & Co', '--notice-reminder-days', '7', '--notice-url', manageUrl];
  const on = { mailsAuthentications: true };
  expect(await set(...all)).toEqual(['test', 'live'].map((mode) => ({ mode, notices: care, ...on })));
  expect(await set('--notice-reminder-days', 'none', '--notice-mode', 'live')).toEqual([
    { mode: 'live', notices: { ...care, reminderDays: null }, ...on },
  ]);
  expect(await set('--notice-invoices', 'yes', '--notice-mode', 'test')).toEqual([
    { mode: 'test', notices: { ...care, mailsInvoices: true }, ...on },
  ]);
  expect((await update('--notice-invoices', 'no', '--notice-mode', 'test')).out).toContain(
    'test mode mails notices as Care & Co, reminders 7 days before, no paid invoices, payments to confirm, https://care.example/account',
  );
  const off = { mode: 'test', notices: null, mailsAuthentications: false };
  expect(await set('--notice-name', 'none', '--notice-mode', 'test')).toEqual([off]);
  expect(await set('--notice-authentications', 'yes')).toMatchObject([off, { mode: 'live', ...on }]);
  expect((await update('--notice-authentications', 'no')).out.slice(-2)).toEqual([
    'test mode mails no notices',
    'live mode mails notices as Care & Co, no reminders, no paid invoices, no payments to confirm, https://care.example/account',
  ]);
  expect((await update('--notice-reminder-days', '7', '--notice-mode', 'test')).code).toBe(1);
  expect((await update('--notice-url', 'http://care.example', '--notice-mode', 'live')).code).toBe(1);
  for (const options of [
    ['--notice-mode', 'live'],
    ['--notice-name', 'A', '--notice-mode', 'both'],
    ['--notice-reminder-days', 'soon'],
    ['--notice-invoices', 'some'],
    ['--notice-authentications', 'some'],
  ]) {
    expect((await update(...options)).code).toBe(2);
  }
});

it('sets within how many minutes renewals are charged, in both modes [D14.235]', async () => {
  const { account } = await json('accounts', 'create', '--name', 'Shop');
  const update = (minutes: string) => eligo('accounts', 'update', String(account), '--renewal-spread', minutes);
  const stored = () =>
    constellation.database.admin('select spread_minutes from billing.renewal_settings where account_id = $1', [
      account,
    ]);
  expect((await update('30')).code).toBe(0);
  expect((await update('45')).out).toContain('renewals are charged within 45 minutes');
  expect(await stored()).toEqual([{ spread_minutes: 45 }, { spread_minutes: 45 }]);
  const { out } = await update('0');
  expect(out).toContain('renewals are charged when they are due');
  expect(await json('accounts', 'update', String(account), '--renewal-spread', '0')).toMatchObject({
    renewal_spread_minutes: 0,
  });
  expect(await stored()).toEqual([]);
  for (const minutes of ['61', 'some', '-1']) expect((await update(minutes)).code).toBe(2);
});

it('records in both modes whether the other card pays what a health card refuses [D14.291]', async () => {
  const { account } = await json('accounts', 'create', '--name', 'Shop');
  const update = (answer: string) => eligo('accounts', 'update', String(account), '--backup-pays-refused', answer);
  const stored = () =>
    constellation.database.admin(
      'select test_mode from billing.backup_agreements where account_id = $1 order by test_mode',
      [account],
    );
  for (const _ of ['once', 'again']) {
    expect((await update('yes')).out).toContain('the other card of a subscription pays what its health card refuses');
    expect(await stored()).toEqual([{ test_mode: false }, { test_mode: true }]);
  }
  expect(await json('accounts', 'update', String(account), '--backup-pays-refused', 'no')).toMatchObject({
    backup_pays_refused: false,
  });
  expect(await stored()).toEqual([]);
  expect((await update('perhaps')).code).toBe(2);
});

it('sets in both modes on which days an account duns and how that ends, and keeps what is not given [D14.91]', async () => {
  const { account } = await json('accounts', 'create', '--name', 'Shop');
  const update = (...options: string[]) => eligo('accounts', 'update', String(account), ...options);
  const stored = () =>
    constellation.database.admin(
      'select retry_days, ends_with from billing.dunning_settings where account_id = $1 order by test_mode',
      [account],
    );
  const both = (retry_days: number[], ends_with: string) => [false, true].map(() => ({ retry_days, ends_with }));
  expect((await update('--dunning-end', 'unpaid')).out).toContain(
    'live mode tries a failed renewal again after 1, 3, 5, 7 days; a subscription is then unpaid',
  );
  expect(await stored()).toEqual(both([1, 3, 5, 7], 'unpaid'));
  expect(await json('accounts', 'update', String(account), '--dunning-days', '2,4,60')).toMatchObject({
    dunning: ['test', 'live'].map((mode) => ({ mode, retry_days: [2, 4, 60], ends_with: 'unpaid' })),
  });
  expect(await stored()).toEqual(both([2, 4, 60], 'unpaid'));
  for (const days of ['5,1,3', '1,1', '0,1', '61', '', '1,', 'soon', '1.5', '1,2,3,4,5,6,7,8,9,10,11']) {
    expect(await update('--dunning-days', days)).toMatchObject({
      ...{ code: 2, err: [expect.stringContaining('--dunning-days must be 1 to 10 ascending days from 1 to 60')] },
    });
  }
  expect((await update('--dunning-end', 'paused')).code).toBe(2);
  expect(await stored()).toEqual(both([2, 4, 60], 'unpaid'));
});

it('changes nothing of an account when one of its options is refused [D14.192, D14.235]', async () => {
  const { account } = await json('accounts', 'create', '--name', 'Shop');
  const update = (...options: string[]) =>
    eligo('accounts', 'update', String(account), '--name', 'Renamed', ...options);
  for (const [options, code] of [
    [['--renewal-spread', '61'], 2],
    [['--backup-pays-refused', 'maybe'], 2],
    [['--dunning-days', '3,1'], 2],
    [['--notice-mode', 'live'], 2],
    [['--notice-reminder-days', '7'], 1],
    [['--notice-name', 'Care', '--notice-url', 'http://care.example', '--renewal-spread', '30'], 1],
    [['--notice-name', 'Care', '--renewal-spread', '30', '--logo-url', 'http://care.example'], 1],
  ] as const) {
    expect((await update(...options)).code).toBe(code);
  }
  const { accounts } = (await json('accounts', 'list')) as { accounts: { account_id: string; name: string }[] };
  expect(accounts.find(({ account_id }) => account_id === account)?.name).toBe('Shop');
  for (const table of ['renewal_settings', 'notice_settings']) {
    const found = constellation.database.admin(`select 1 from billing.${table} where account_id = $1`, [account]);
    expect(await found).toEqual([]);
  }
});

it('says that an account is unknown before it looks at its settings [D14.192]', async () => {
  const unknown = ['accounts', 'update', 'facct_01jz0000000000000000000000'];
  for (const options of [
    ['--notice-reminder-days', '7'],
    ['--renewal-spread', '30'],
    ['--name', 'Shop'],
  ]) {
    expect(await eligo(...unknown, ...options)).toEqual({ code: 1, out: [], err: ['eligo: No such account.'] });
  }
});

it('imports the list of issuer ranges, and says which line is wrong [D14.71]', async () => {
  const file = (text: string) => {
    const path = join(constellation.home.root, 'ranges.csv');
    writeFileSync(path, text);
    return path;
  };
  const list = file('first,last,hsa_fsa\n400006,,true\n510510,510519,false\n');
  expect(await json('issuer-ranges', 'import', list)).toEqual({ ranges: 2, health: 1 });
  const { code, err } = await eligo('issuer-ranges', 'import', file('first,last,hsa_fsa\n400006,,perhaps\n'));
  expect({ code, err }).toEqual({
    code: 1,
    err: ['eligo: Line 2: the third and last column must be true or false'],
  });
});
