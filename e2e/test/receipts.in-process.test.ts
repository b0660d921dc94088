import { randomUUID } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { paddedPdf } from '@eligo/pdf/padded-pdf';
import { textOfPdf } from '@eligo/pdf/test-support';
import { repositoryRoot } from '@eligo/stack';
import { type Api, type Constellation, startConstellation, waitUntil } from '@eligo/testkit';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { booksAgree, stopWithBooks } from '../src/books.ts';
import { type Json, record, text } from '../src/records.ts';
import { runCli } from '../src/run-cli.ts';
import { confirm, make, newCard, newCustomer, newSession, openShop, type Shop, sellSubscription } from '../src/shop.ts';
import { uploadFile } from '../src/upload-file.ts';
import { cancellationRefundTests } from './cancellation-refunds.ts';
import { invoiceDocumentTests } from './invoice-documents.ts';
import { updatedCardTests } from './updated-cards.ts';

vi.setConfig({ testTimeout: 60_000, hookTimeout: 120_000 });
let eligo: Constellation;
let api: Api;
let shop: Shop;
beforeAll(async () => {
  eligo = await startConstellation({ topology: 'in-process' });
  const made = await runCli(eligo, ['accounts', 'create', '--name', 'Care & Co', '--feature', 'receipts']);
  const unlimited = ['--account', text(made, 'account'), '--mode', 'test', '--rate-limit', '0'];
  api = eligo.api(text(await runCli(eligo, ['keys', 'create', ...unlimited]), 'api_key'));
  shop = await openShop(api);
});
afterAll(() => stopWithBooks(eligo));

const stack = () => ({ eligo, api, shop });
for (const tests of [updatedCardTests, invoiceDocumentTests, cancellationRefundTests]) tests(stack);

/** The receipt of a session, once it was mailed. */
async function receiptOf(session: string): Promise<Json> {
  let receipt: Json | undefined;
  const isMailed = async () => {
    const { receipts } = (await api.ok('GET', `/v1/receipts?checkout_session=${session}`)) as { receipts: Json[] };
    [receipt] = receipts;
    return receipt?.mail_status === 'sent';
  };
  await waitUntil(isMailed, { withinMs: 20_000, what: 'the mail of the receipt' });
  return receipt ?? expect.fail('no receipt');
}

async function htmlOf(receipt: Json): Promise<string> {
  return (await documentsOf(receipt)).html;
}

async function documentsOf(receipt: Json): Promise<{ html: string; pdf: string }> {
  const answer = await api.ok('GET', `/v1/receipts/${text(receipt, 'receipt_id')}/document`);
  const { html, pdf } = record(answer, 'receipt_document');
  const bytes = Buffer.from(String(pdf), 'base64');
  expect(bytes.toString('latin1')).toMatch(/^%PDF-1\./);
  return { html: String(html), pdf: textOfPdf(bytes) };
}

describe('a shop with the feature receipts', () => {
  it('has its shopper mailed what each of two cards paid, at the address of the session [D14.86]', async () => {
    const customer = await newCustomer(api, { first_name: 'Ada', last_name: 'Lovelace' });
    const [hsa, credit] = [await newCard(api, customer, 'hsa'), await newCard(api, customer, 'credit')];
    const session = text(await newSession(api, shop, { customer }), 'checkout_session_id');
    await api.ok('POST', `/v1/test_helpers/checkout/sessions/${session}/complete`, {
      body: { checkout_session: { payment_method: hsa, second_payment_method: credit } },
    });
    const receipt = await receiptOf(session);
    expect(receipt).toMatchObject({ amount: 11_773, subscription: null, test_mode: true });
    const html = await htmlOf(receipt);
    for (const fact of [
      'Receipt from Care &#38; Co',
      'Ada Lovelace',
      '1 × Blood pressure monitor',
      '2 × Bath towel',
      'HSA/FSA card, Visa ending in 0072',
      'Card, Visa ending in 4242',
      '$58.85',
      '$58.88',
      '$117.73',
    ])
      expect(html).toContain(fact);
    const mails = mailsTo('ada@example.com');
    expect(mails.filter((mail) => mail.includes(text(receipt, 'receipt_id')))).toHaveLength(1);
  });

  it('has its shopper mailed what was refunded to which card, and a correction once a bank returns it [D14.169]', async () => {
    const customer = await newCustomer(api);
    const [hsa, credit] = [await newCard(api, customer, 'hsa'), await newCard(api, customer, 'credit')];
    const session = text(await newSession(api, shop, { customer }), 'checkout_session_id');
    await api.ok('POST', `/v1/test_helpers/checkout/sessions/${session}/complete`, {
      body: { checkout_session: { payment_method: hsa, second_payment_method: credit } },
    });
    await receiptOf(session);
    const body = { checkout_session: { amount: 10_000 } };
    const refunded = await api.ok('POST', `/v1/checkout/sessions/${session}/refund`, { body });
    const [refund] = record(refunded, 'checkout_session').refunds as string[];
    const receiptsOfRefund = async (count: number) => {
      let found: Json[] = [];
      const areMailed = async () => {
        found = ((await api.ok('GET', `/v1/receipts?refund=${refund}`)) as { receipts: Json[] }).receipts;
        return found.length === count && found.every(({ mail_status }) => mail_status === 'sent');
      };
      await waitUntil(areMailed, { withinMs: 20_000, what: `${count} mails of receipts of the refund` });
      return found;
    };
    await api.ok('POST', `/v1/test_helpers/refunds/${refund}/succeed`);
    const [receipt] = await receiptsOfRefund(1);
    expect(receipt).toMatchObject({ refund, checkout_session: session, amount: 10_000 });
    const html = await htmlOf(receipt ?? {});
    for (const fact of ['Refund from Care &#38; Co', 'HSA/FSA card, Visa ending in 0072', '$100.00'])
      expect(html).toContain(fact);
    await api.ok('POST', `/v1/test_helpers/refunds/${refund}/fail`);
    await waitUntil(
      async () => {
        const { receipts } = (await api.ok('GET', `/v1/receipts?refund=${refund}`)) as { receipts: Json[] };
        return receipts[0]?.amount === 0 && receipts[0].mail_status === 'sent';
      },
      { withinMs: 20_000, what: 'the correction' },
    );
    const { receipts } = (await api.ok('GET', `/v1/receipts?refund=${refund}`)) as { receipts: Json[] };
    expect(await htmlOf(receipts[0] ?? {})).toContain('Correction of your refund from Care &#38; Co');
  });

  it.each([
    ['credit', 'Card, Visa ending in 4242'],
    ['undescribed', 'Card, Visa ending in 0014'],
    ['hsa', 'HSA/FSA card, Visa ending in 0072'],
  ])(
    'has the receipts of a confirm with the card %s, and of its refund, call it what it is known to be [D14.306]',
    async (name, words) => {
      const customer = await newCustomer(api);
      const session = text(await newSession(api, shop, { customer }), 'checkout_session_id');
      await confirm(api, session, await newCard(api, customer, name));
      const ofPurchase = await receiptOf(session);
      await api.ok('POST', `/v1/checkout/sessions/${session}/refund`, { body: { checkout_session: { amount: 500 } } });
      await waitUntil(async () => (await receiptOf(session)).refund !== null, {
        ...{ withinMs: 20_000, what: 'the receipt of the refund' },
      });
      for (const receipt of [ofPurchase, await receiptOf(session)]) {
        for (const document of Object.values(await documentsOf(receipt))) {
          expect(document).toContain(words);
          expect(document.includes('HSA/FSA card')).toBe(name === 'hsa');
        }
      }
    },
  );

  it('has a confirm say that the shop collects the rest in another way [D14.86]', async () => {
    const customer = await newCustomer(api);
    const card = await newCard(api, customer, 'hsa');
    const session = text(await newSession(api, shop, { customer }), 'checkout_session_id');
    await confirm(api, session, card);
    const receipt = await receiptOf(session);
    expect(receipt).toMatchObject({ amount: 5_885 });
    expect(await htmlOf(receipt)).toContain('Paid to Care &#38; Co in another way');
  });

  it('has the receipt of a subscription mailed again on request, with the same documents [SUB-7, D14.88]', async () => {
    const customer = await newCustomer(api);
    const card = await newCard(api, customer, 'hsa');
    const { session, subscription } = await sellSubscription(api, shop, customer, card);
    const receipt = await receiptOf(session);
    const html = await htmlOf(receipt);
    const resent = await api.ok('POST', `/v1/subscriptions/${subscription}/receipts/resend`);
    expect(resent).toEqual({ receipt_ids: [text(receipt, 'receipt_id')] });
    const listed = await api.ok('GET', `/v1/receipts?subscription=${subscription}`);
    expect(listed).toMatchObject({ receipts: [{ receipt_id: receipt.receipt_id, subscription }] });
    expect(await htmlOf(await receiptOf(session))).toBe(html);
  });
});

it('answers 404 for a receipt that is not the account’s [D14.86]', async () => {
  const answer = await api.get('/v1/receipts/frcpt_00000000000000000000000000');
  expect([answer.status, answer.body]).toMatchObject([404, { code: 'receipt_not_found' }]);
});

it('a shop without the feature sends no mail to its shoppers [D14.86]', async () => {
  const plain = eligo.api(eligo.testApiKey);
  const customer = await newCustomer(plain);
  const card = await newCard(plain, customer, 'hsa');
  const session = text(await newSession(plain, await openShop(plain), { customer }), 'checkout_session_id');
  await confirm(plain, session, card);
  expect(await plain.ok('GET', '/v1/receipts')).toEqual({ receipts: [], has_more: false });
});

it('a reimbursement has its itemized receipt also there: the shopper’s plan asks for it [D14.209]', async () => {
  const plain = eligo.api(eligo.testApiKey);
  const session = await newSession(plain, await openShop(plain), {
    ...{ mode: 'reimbursement', customer_email: 'plan@example.com' },
  });
  expect(text(session, 'redirect_url')).toContain('/pay/');
  const id = text(session, 'checkout_session_id');
  await plain.ok('POST', `/v1/test_helpers/checkout/sessions/${id}/complete`, {
    body: { checkout_session: { payment_method: 'credit' } },
  });
  const mailed = async () => {
    const { receipts } = (await plain.ok('GET', `/v1/receipts?checkout_session=${id}`)) as { receipts: Json[] };
    return receipts[0]?.mail_status === 'sent' ? receipts[0] : undefined;
  };
  await waitUntil(async () => (await mailed()) !== undefined, { withinMs: 20_000, what: 'the mail of the receipt' });
  const receipt = (await mailed()) ?? expect.fail('no receipt');
  expect(receipt).toMatchObject({ checkout_session: id, amount: 11_773 });
  const answer = await plain.ok('GET', `/v1/receipts/${text(receipt, 'receipt_id')}/document`);
  const html = String(record(answer, 'receipt_document').html);
  for (const fact of [
    'Blood pressure monitor',
    'Eligible: medical item on the IIAS list',
    'Bath towel',
    'Not eligible',
  ])
    expect(html).toContain(fact);
});

it('a shopper of whom no address is known has a receipt for the shop to pass on, which is mailed to nobody [D14.86, D14.209]', async () => {
  const defaults = { first_name: 'Ada', last_name: 'Lovelace' };
  const session = text(await newSession(api, shop, { mode: 'reimbursement', defaults }), 'checkout_session_id');
  await api.ok('POST', `/v1/test_helpers/checkout/sessions/${session}/complete`, {
    body: { checkout_session: { payment_method: 'credit' } },
  });
  let receipts: Json[] = [];
  await waitUntil(
    async () => {
      ({ receipts } = (await api.ok('GET', `/v1/receipts?checkout_session=${session}`)) as { receipts: Json[] });
      return receipts.length > 0;
    },
    { withinMs: 20_000, what: 'the receipt' },
  );
  expect(receipts).toMatchObject([{ mail_status: null, mailed_at: null, amount: 11_773 }]);
  for (const document of Object.values(await documentsOf(receipts[0] ?? {}))) {
    for (const fact of ['Ada Lovelace', 'Eligible: medical item on the IIAS list']) expect(document).toContain(fact);
  }
});

describe('a person who is erased by the operator', () => {
  it('is named by no row that stays, and by no document, file or kept mail; books and decisions stay [D14.143, D14.326, D14.399]', async () => {
    const secret = `Zelda${randomUUID().slice(0, 8)}`;
    const email = `${secret.toLowerCase()}@example.com`;
    const address = { line1: secret, city: 'Austin', state: 'TX', postal_code: '78701', country: 'US' };
    const customer = await newCustomer(api, {
      ...{ email, first_name: secret, last_name: secret, phone: secret, employer: secret },
      ...{ shipping: address, metadata: { note: secret } },
    });
    const card = await newCard(api, customer, 'hsa');
    const { price_id: price } = await make(api, '/v1/prices', 'price', {
      product_data: { name: 'Massage gun', hsa_fsa_eligibility: 'letter_of_medical_necessity' },
      unit_amount: 19_900,
    });
    const session = text(
      await make(api, '/v1/checkout/sessions', 'checkout_session', {
        ...{ customer, customer_email: email, line_items: [{ price, quantity: 1 }] },
        defaults: { email, first_name: secret, last_name: secret, phone: '+15551234567' },
        ...{ shipping_details: address, metadata: { note: secret }, success_url: 'https://shop.example/done' },
      }),
      'checkout_session_id',
    );
    await api.ok('POST', `/v1/test_helpers/checkout/sessions/${session}/complete`, {
      body: { checkout_session: { payment_method: card, letter: 'My back hurts' } },
    });
    const { letters } = (await api.ok('GET', `/v1/letters?checkout_session=${session}`)) as { letters: Json[] };
    const letter = text(letters[0] as Json, 'letter_id');
    await api.ok('POST', `/v1/test_helpers/letters/${letter}/approve`);
    const sold = await sellSubscription(api, shop, customer, card, { metadata: { note: secret } });
    await receiptOf(sold.session);
    const receipt = await receiptOf(session);
    expect(await htmlOf(receipt)).toContain(secret);
    await api.ok('POST', `/v1/checkout/sessions/${session}/refund`, { body: { checkout_session: { amount: 500 } } });
    await waitUntil(async () => (await receiptOf(session)).refund !== null, {
      ...{ withinMs: 20_000, what: 'the receipt of the refund' },
    });
    const ofRefund = await receiptOf(session);
    expect(await htmlOf(ofRefund)).toContain(secret);
    const { dispute, file } = await disputeWithEvidence(session, secret);
    expect(await tablesWith(secret)).toEqual(
      expect.arrayContaining([
        ...[
          'billing.receipts',
          'billing.subscriptions',
          'checkout.customers',
          'checkout.sessions',
          'gateway.file_parts',
          'gateway.files',
        ],
        ...['refunds.disputes', 'checkout.outbox', 'webhooks.events'],
      ]),
    );
    expect(mailsTo(email)).toHaveLength(3);

    const account = text(await rowOf('select account_id from checkout.sessions where id = $1', session), 'account_id');
    const command = ['customers', 'erase', customer, '--account', account, '--mode', 'test', '--by', 'R-1'];
    const erase = () => runCli(eligo, [...command, '--with-open-disputes'], { ELIGO_MAIL_FOLDER: mailFolder() });
    await expect(runCli(eligo, command)).rejects.toMatchObject({ code: 1, stdout: expect.stringContaining(dispute) });
    expect(mailsTo(email)).toHaveLength(3);
    expect((await api.get(`/v1/customers/${customer}`)).status).toBe(200);
    const counts = { customer_id: customer, sessions: 2, payment_methods: 1 };
    const elsewhere = { receipts: 3, letter_answers: 1, disputes: 1, files: 1, mails: 3 };
    expect(await erase()).toEqual({ ...counts, ...elsewhere });
    const expiring = copiesThatExpire();
    expect((await tablesWith(secret)).filter((table) => !expiring.includes(table))).toEqual([]);
    expect(mailsTo(email)).toEqual([]);
    expect((await api.get(`/v1/files/${file}`)).status).toBe(404);
    expect(await api.ok('GET', `/v1/subscriptions/${sold.subscription}`)).toMatchObject({
      subscription: { customer, metadata: {} },
    });
    // The processor keeps the evidence. Each look reads it, and none stores it.
    const metadata = { order: '1042' };
    await api.ok('POST', `/v1/disputes/${dispute}`, { body: { dispute: { evidence: {}, submit: true, metadata } } });
    expect(await api.ok('GET', `/v1/disputes/${dispute}`)).toMatchObject({
      dispute: { status: 'under_review', evidence: {}, evidence_details: { has_evidence: true }, metadata },
    });
    expect(await tablesWith(secret)).not.toContain('refunds.disputes');
    for (const one of [receipt, ofRefund]) expect(await htmlOf(one)).not.toContain(secret);
    expect(await htmlOf(receipt)).toContain('Massage gun');
    expect(await api.ok('GET', `/v1/letters/${letter}`)).toMatchObject({ letter: { status: 'approved', customer } });
    expect(await api.ok('GET', `/v1/checkout/sessions/${session}`)).toMatchObject({
      checkout_session: {
        amount_received: 19_900,
        customer,
        customer_email: null,
        metadata: {},
        shipping_details: null,
      },
    });
    expect((await api.get(`/v1/customers/${customer}`)).status).toBe(404);
    // The metadata that the partner wrote after the first run.
    expect(await erase()).toEqual({ ...counts, receipts: 0, letter_answers: 0, disputes: 1, files: 0, mails: 0 });
    expect(
      await rowOf(
        'select count(*)::int as runs, count(finished_at)::int as finished from checkout.erasures where customer_id = $1',
        customer,
      ),
    ).toEqual({ runs: 2, finished: 2 });
    // The repeated erasure took the documents away; from their rendering on they are the same again.
    for (const one of [receipt, ofRefund]) expect(await htmlOf(one)).not.toContain(secret);
    await expect(
      eligo.database.admin("update billing.receipts set email = 'a@b.example' where checkout_session_id = $1", [
        session,
      ]),
    ).rejects.toMatchObject({ constraint: 'documents_never_change' });
    await booksAgree(eligo);
  });
});

async function rowOf(sql: string, value: string): Promise<Json> {
  const [row] = await eligo.database.admin<Json>(sql, [value]);
  return row ?? expect.fail('no row');
}

/** A dispute of a session's charge, whose evidence names the shopper in a text and in a file. */
async function disputeWithEvidence(session: string, secret: string): Promise<{ dispute: string; file: string }> {
  const intent = 'select latest_charge_id as charge from checkout.payment_intents where session_id = $1';
  const charge = text(await rowOf(intent, session), 'charge');
  const disputed = await api.ok('POST', '/v1/test_helpers/disputes', { body: { dispute: { charge } } });
  const dispute = text(record(disputed, 'dispute'), 'dispute_id');
  const content = Buffer.concat([paddedPdf(1_000), Buffer.from(`% ${secret}`)]);
  const file = await uploadFile(api, content, { name: `${secret}.pdf` });
  const evidence = { customer_name: secret, billing_address: `1 ${secret} Way`, receipt: file };
  await api.ok('POST', `/v1/disputes/${dispute}`, {
    ...{ body: { dispute: { evidence, metadata: { note: secret } } }, idempotencyKey: randomUUID() },
  });
  return { dispute, file };
}

/** The tables in which a row names it, in a text or in bytes. */
async function tablesWith(secret: string): Promise<string[]> {
  const tables = await eligo.database.admin<{ name: string; bytes: string[] }>(
    `select c.oid::regclass::text as name, array(select a.attname::text from pg_attribute a
        where a.attrelid = c.oid and a.atttypid = 'bytea'::regtype and not a.attisdropped) as bytes
       from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where c.relkind in ('r', 'p') and n.nspname in ('billing', 'catalog', 'checkout', 'gateway', 'refunds', 'webhooks')`,
  );
  const found: string[] = [];
  for (const { name, bytes } of tables) {
    const inBytes = bytes.map((column) => `or position(convert_to($1, 'UTF8') in r.${column}) > 0`).join(' ');
    const rows = await eligo.database.admin(
      `select 1 from ${name} r where r::text ilike '%' || $1 || '%' ${inBytes} limit 1`,
      [secret],
    );
    if (rows.length > 0) found.push(name);
  }
  return found.sort();
}

// docs/data-map.md says of each why it stays, and when it is deleted.
function copiesThatExpire(): string[] {
  const page = readFileSync(join(repositoryRoot, 'docs/data-map.md'), 'utf8');
  const rows = [...page.matchAll(/^\| ([^|]*) \| [^|]* \| deleted after \d+ days \|$/gm)];
  return rows.flatMap(([, tables = '']) => [...tables.matchAll(/`(\w+\.\w+)`/g)].map(([, table = '']) => table));
}

function mailFolder(): string {
  return join(eligo.home.root, 'mail');
}

/** The mails to an address that are kept as files. */
function mailsTo(address: string): string[] {
  const files = existsSync(mailFolder()) ? readdirSync(mailFolder()) : [];
  const mails = files.map((name) => readFileSync(join(mailFolder(), name), 'utf8'));
  return mails.filter((mail) => mail.includes(`To: ${address}`));
}
