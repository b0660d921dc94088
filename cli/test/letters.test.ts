import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { textOfPdf } from '@eligo/pdf/test-support';
import { openKeyring } from '@eligo/service';
import { secretsOf } from '@eligo/stack';
import { type Constellation, startConstellation } from '@eligo/testkit';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { runCommandLine } from '../src/index.ts';

vi.setConfig({ hookTimeout: 120_000, testTimeout: 60_000 });

type Json = Record<string, unknown>;
const canary = 'canary of celiac disease';
let constellation: Constellation;
let credential: string;

beforeAll(async () => {
  constellation = await startConstellation({ topology: 'in-process' });
  vi.stubEnv('ELIGO_HOME', constellation.home.root);
  const added = await json('reviewers', 'add', '--name', 'Grace Hopper', '--license', 'A-1906', '--state', 'NY');
  expect(added).toEqual({ reviewer_id: expect.stringMatching(/^frev_/), credential: expect.any(String) });
  credential = String(added.credential);
});
afterEach(() => vi.stubEnv('ELIGO_REVIEWER_CREDENTIAL', ''));
afterAll(async () => {
  vi.unstubAllEnvs();
  await constellation.stop();
});

async function eligo(...args: string[]) {
  const out: string[] = [];
  const err: string[] = [];
  const code = await runCommandLine(args, { out: (text) => out.push(text), err: (text) => err.push(text) });
  return { code, out, err };
}

async function json(...args: string[]): Promise<Json> {
  const { code, out, err } = await eligo(...args, '--json');
  expect({ code, err, lines: out.length }).toEqual({ code: 0, err: [], lines: 1 });
  return JSON.parse(out[0] ?? '') as Json;
}

async function make(path: string, envelope: string, fields: Json): Promise<Json> {
  return (await constellation.api().ok('POST', path, { body: { [envelope]: fields } }))[envelope] as Json;
}

// A session that waits for a letter, with the shopper's answer.
async function letterOf(answer = canary): Promise<{ session: string; letter: string }> {
  const product_data = { name: 'Massage gun', hsa_fsa_eligibility: 'letter_of_medical_necessity' };
  const { price_id: price } = await make('/v1/prices', 'price', { product_data, unit_amount: 19_900 });
  const lines = [{ price, quantity: 1 }];
  const fields = { line_items: lines, success_url: 'https://shop.example/done' };
  const made = await make('/v1/checkout/sessions', 'checkout_session', fields);
  const session = String(made.checkout_session_id);
  const complete = `/v1/test_helpers/checkout/sessions/${session}/complete`;
  await make(complete, 'checkout_session', { payment_method: 'hsa', letter: answer });
  const { letters } = await constellation.api().ok('GET', `/v1/letters?checkout_session=${session}`);
  return { session, letter: String((letters as Json[])[0]?.letter_id) };
}
const statusOf = async (session: string) => {
  const answer = await constellation.api().ok('GET', `/v1/checkout/sessions/${session}`);
  return (answer.checkout_session as Json).status;
};

describe('a reviewer on the command line', () => {
  it('sees what a shopper wrote as text: it moves no cursor, forges no line and turns no order around', async () => {
    const hostile = 'x\u001b]52;c;AAAA\u0007\u009b2J \u202eevil\nstatus  approved';
    const { letter } = await letterOf(hostile);
    vi.stubEnv('ELIGO_REVIEWER_CREDENTIAL', credential);
    const { out } = await eligo('letters', 'show', letter);
    expect(out.join('\n')).toContain('x\\u001b]52;c;AAAA\\u0007\\u009b2J \\u202eevil\n    | status  approved');
    const asJson = await eligo('letters', 'show', letter, '--json');
    expect(Object.values((JSON.parse(asJson.out[0] ?? '') as { answers: Json }).answers)).toContain(hostile);
    for (const text of [...out, ...asJson.out]) expect(text).not.toMatch(/[\p{Cc}\u202e]/u);
    expect(await json('letters', 'deny', letter)).toMatchObject({ status: 'denied' });
  });

  it('lists the queue, reads the answers, approves and denies, and is named as who decided [D14.79, D14.379]', async () => {
    const [one, other] = [await letterOf(), await letterOf()];
    const { letters } = (await json('letters', 'list', '--mode', 'test')) as { letters: Json[] };
    expect(letters.map(({ letter_id }) => letter_id)).toEqual([one.letter, other.letter]);
    expect(letters[0]).toMatchObject({ mode: 'test', status: 'in_review', account: constellation.account });
    const { letters: after } = await json('letters', 'list', '--mode', 'test', '--after', one.letter);
    expect((after as Json[]).map(({ letter_id }) => letter_id)).toEqual([other.letter]);
    expect(await json('letters', 'list')).toEqual({ letters: [], has_more: false });

    vi.stubEnv('ELIGO_REVIEWER_CREDENTIAL', credential);
    expect(await json('letters', 'show', one.letter)).toMatchObject({
      ...{ letter_id: one.letter, answers: { letter: canary } },
      products: ['Massage gun'],
    });
    expect(await json('letters', 'approve', one.letter)).toMatchObject({ status: 'approved' });
    expect(await statusOf(one.session)).toBe('complete');
    const reviewer = { name: 'Grace Hopper', license: 'A-1906', state: 'NY' };
    expect(await json('letters', 'show', one.letter)).toMatchObject({ reviewer, decided_at: expect.any(String) });
    expect((await eligo('letters', 'show', one.letter)).out.join('\n')).toContain('Grace Hopper  NY A-1906');
    expect((await constellation.api().ok('GET', `/v1/letters/${one.letter}`)).letter).toMatchObject({ reviewer });
    const file = join(constellation.home.root, 'letter.pdf');
    expect(await json('letters', 'document', one.letter, '--file', file)).toEqual({ letter_id: one.letter, file });
    const text = textOfPdf(readFileSync(file));
    for (const fact of ['Massage gun', canary, 'Grace Hopper', 'License: A-1906 (NY)', '(Eastern Time)', 'Test mode']) {
      expect(text).toContain(fact);
    }
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect((await eligo('letters', 'document', one.letter, '--file', file)).code).toBe(2);
    const undecided = await eligo('letters', 'document', other.letter, '--file', `${file}.other`);
    expect([undecided.code, existsSync(`${file}.other`)]).toEqual([2, false]);
    const proof = await constellation.api().ok('GET', `/v1/checkout/sessions/${one.session}/substantiation`);
    expect((proof.substantiation as { line_items: Json[] }).line_items[0]?.letter).toMatchObject({ reviewer });
    expect(await json('letters', 'deny', other.letter)).toMatchObject({ status: 'denied' });
    expect(await statusOf(other.session)).toBe('canceled');
    const again = await eligo('letters', 'approve', other.letter);
    expect({ code: again.code, err: again.err.join('') }).toEqual({
      code: expect.any(Number),
      err: expect.stringContaining('no longer in review'),
    });
    expect(again.code).not.toBe(0);
  });

  it('needs a credential, which no error repeats [D14.79]', async () => {
    const { session, letter } = await letterOf();
    const without = await eligo('letters', 'approve', letter);
    expect(without.err.join('')).toContain('ELIGO_REVIEWER_CREDENTIAL');
    vi.stubEnv('ELIGO_REVIEWER_CREDENTIAL', 'freviewer_wrong');
    for (const command of ['show', 'approve', 'deny']) {
      const refused = await eligo('letters', command, letter);
      expect(refused.code).not.toBe(0);
      expect(refused.out.concat(refused.err).join('')).not.toMatch(/freviewer_wrong|canary/);
    }
    expect(await statusOf(session)).toBe('paid');
  });

  it('is listed without the credential and revoked for good', async () => {
    const added = await json('reviewers', 'add', '--name', 'Ada', '--license', 'B-1', '--state', 'CA');
    const listed = await json('reviewers', 'list');
    expect(JSON.stringify(listed)).not.toContain(String(added.credential));
    expect((listed.reviewers as Json[])[0]).toMatchObject({ reviewer_id: added.reviewer_id, revoked_at: null });
    await json('reviewers', 'revoke', String(added.reviewer_id));
    vi.stubEnv('ELIGO_REVIEWER_CREDENTIAL', String(added.credential));
    const { letter } = await letterOf();
    expect((await eligo('letters', 'approve', letter)).code).not.toBe(0);
    expect((await eligo('reviewers', 'revoke', String(added.reviewer_id))).code).not.toBe(0);
  });
});

describe('sealed answers', () => {
  it('are resealed under the first key, and open with it alone', async () => {
    const { letter } = await letterOf();
    const before = secretsOf(constellation.home).keyring;
    const rotated = `k2:${randomBytes(32).toString('base64')},${before}`;
    vi.stubEnv('ELIGO_KEYRING', rotated);
    const sealed = () =>
      constellation.database.admin<{ account_id: string; sealed: string }>(
        'select account_id, sealed from checkout.letter_answers where letter_id = $1',
        [letter],
      );
    const first = (await json('secrets', 'reseal')).letter_answers as Json;
    expect(first).toMatchObject({ total: first.resealed, unopened: [] });
    expect((await json('secrets', 'reseal')).letter_answers).toEqual({ ...first, resealed: 0 });
    const [row] = await sealed();
    const place = `checkout.letter_answers ${row?.account_id} test ${letter}`;
    expect(openKeyring(rotated.split(',')[0] ?? '').open(row?.sealed ?? '', place)).toContain(canary);
    vi.stubEnv('ELIGO_KEYRING', `k3:${randomBytes(32).toString('base64')}`);
    const lost = await eligo('secrets', 'reseal', '--json');
    expect(lost.code).toBe(1);
    expect(await sealed()).toEqual([row]);
    vi.stubEnv('ELIGO_KEYRING', before);
  });
});
