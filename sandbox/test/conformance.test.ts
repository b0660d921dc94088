import { readFileSync } from 'node:fs';
import { get } from 'node:http';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import Stripe from 'stripe';
import { describe, expect, test } from 'vitest';
import { newSandbox, sdk, secretKey, sender } from './support.ts';

/** The official SDK, as it comes, against every call that the sandbox has. */
describe('the official SDK', () => {
  test('customers: create, retrieve, update, list, delete', async () => {
    const stripe = sdk((await newSandbox()).url, 'acct_test0001');
    const made = await stripe.customers.create({ email: 'a@shop.example', name: 'A', metadata: { x: '1', y: '2' } });
    expect(made).toMatchObject({ object: 'customer', email: 'a@shop.example', livemode: false });
    const changed = await stripe.customers.update(made.id, { name: '', metadata: { x: '', z: '3' } });
    expect(changed).toMatchObject({ name: null, metadata: { y: '2', z: '3' } });
    expect((await stripe.customers.list({ limit: 3 })).data).toEqual([changed]);
    const listed = async (email: string) => (await stripe.customers.list({ email })).data.map(({ id }) => id);
    expect([await listed('a@shop.example'), await listed('A@shop.example')]).toEqual([[made.id], []]);
    await stripe.customers.update(made.id, { email: 'b@shop.example' });
    expect([await listed('a@shop.example'), await listed('b@shop.example')]).toEqual([[], [made.id]]);
    await stripe.customers.update(made.id, { email: '' });
    expect(await listed('b@shop.example')).toEqual([]);
    expect(await stripe.customers.del(made.id)).toEqual({ id: made.id, object: 'customer', deleted: true });
    expect(await stripe.customers.retrieve(made.id)).toEqual({ id: made.id, object: 'customer', deleted: true });
  });

  test('payment methods: create, update, attach, list, detach', async () => {
    const stripe = sdk((await newSandbox()).url);
    const { id: customer } = await stripe.customers.create({});
    const method = await stripe.paymentMethods.create({
      type: 'card',
      card: { token: 'tok_hsa' },
      billing_details: { name: 'A B', address: { line1: '1 Main St', country: 'US' } },
    });
    expect(method.billing_details).toMatchObject({
      name: 'A B',
      email: null,
      address: { line1: '1 Main St', country: 'US' },
    });
    expect((await stripe.paymentMethods.attach(method.id, { customer })).customer).toBe(customer);
    expect((await stripe.customers.listPaymentMethods(customer, { type: 'card' })).data).toHaveLength(1);
    expect((await stripe.paymentMethods.list({ customer })).data).toHaveLength(1);
    expect((await stripe.paymentMethods.update(method.id, { metadata: { a: 'b' } })).metadata).toEqual({ a: 'b' });
    expect((await stripe.paymentMethods.detach(method.id)).customer).toBeNull();
    expect((await stripe.paymentMethods.retrieve(method.id)).customer).toBeNull();
  });

  test('payment intents: create, update, confirm, capture, cancel, list, search, expand', async () => {
    const stripe = sdk((await newSandbox()).url);
    const intent = await stripe.paymentIntents.create({
      amount: 1234,
      currency: 'usd',
      capture_method: 'manual',
      allowed_payment_method_types: ['card'],
      payment_method_options: { card: { request_multicapture: 'if_available' } },
      metadata: { attempt: 'a1' },
    });
    expect(intent).toMatchObject({
      object: 'payment_intent',
      status: 'requires_payment_method',
      amount_received: 0,
      latest_charge: null,
    });
    const updated = await stripe.paymentIntents.update(intent.id, {
      payment_method: 'pm_card_visa',
      metadata: { attempt: 'a2' },
    });
    expect(updated.status).toBe('requires_confirmation');
    const held = await stripe.paymentIntents.confirm(intent.id, { off_session: true, expand: ['latest_charge'] });
    expect(held).toMatchObject({
      status: 'requires_capture',
      amount_capturable: 1234,
      latest_charge: { object: 'charge', captured: false },
    });
    const captured = await stripe.paymentIntents.capture(intent.id, {
      amount_to_capture: 1000,
      expand: ['latest_charge.balance_transaction'],
    });
    expect(captured).toMatchObject({
      status: 'succeeded',
      amount_received: 1000,
      latest_charge: { amount_captured: 1000, balance_transaction: { object: 'balance_transaction', amount: 1000 } },
    });
    const other = await stripe.paymentIntents.create({ amount: 500, currency: 'usd' });
    expect((await stripe.paymentIntents.cancel(other.id, { cancellation_reason: 'abandoned' })).status).toBe(
      'canceled',
    );
    expect((await stripe.paymentIntents.list({ limit: 1 })).has_more).toBe(true);
    const all = await stripe.paymentIntents.list({ limit: 1 }).autoPagingToArray({ limit: 10 });
    expect(all.map(({ id }) => id)).toEqual([other.id, intent.id]);
    const found = await stripe.paymentIntents.search({ query: "metadata['attempt']:'a2' AND status:'succeeded'" });
    expect(found.data.map(({ id }) => id)).toEqual([intent.id]);
    expect((await stripe.paymentIntents.search({ query: "metadata['attempt']:'a1'" })).data).toEqual([]);
    expect((await stripe.paymentIntents.retrieve(intent.id)).id).toBe(intent.id);
  });

  test('setup intents: create, confirm (which attaches), cancel, list', async () => {
    const stripe = sdk((await newSandbox()).url);
    const { id: customer } = await stripe.customers.create({});
    const { id: method } = await stripe.paymentMethods.create({ type: 'card', card: { token: 'tok_hsa' } });
    const setup = await stripe.setupIntents.create({ customer, payment_method: method, usage: 'off_session' });
    expect(setup.status).toBe('requires_confirmation');
    expect((await stripe.setupIntents.confirm(setup.id)).status).toBe('succeeded');
    expect((await stripe.paymentMethods.retrieve(method)).customer).toBe(customer);
    const declined = stripe.setupIntents.create({ customer, payment_method: 'pm_card_chargeDeclined', confirm: true });
    await expect(declined).rejects.toMatchObject({ code: 'card_declined', statusCode: 402 });
    const waiting = await stripe.setupIntents.create({
      payment_method: 'pm_card_authenticationRequired',
      confirm: true,
    });
    expect(waiting.status).toBe('requires_action');
    expect((await stripe.setupIntents.cancel(waiting.id)).status).toBe('canceled');
    expect((await stripe.setupIntents.list({ customer })).data.map(({ status }) => status)).toEqual([
      'requires_payment_method',
      'succeeded',
    ]);
    expect((await stripe.setupIntents.retrieve(setup.id)).id).toBe(setup.id);
  });

  test('charges, refunds and balance transactions: retrieve and list, and what belongs together', async () => {
    const stripe = sdk((await newSandbox()).url);
    const intent = await stripe.paymentIntents.create({
      amount: 1000,
      currency: 'usd',
      payment_method: 'pm_card_visa',
      confirm: true,
    });
    const [charge] = (await stripe.charges.list({ payment_intent: intent.id })).data;
    expect(charge).toMatchObject({
      id: intent.latest_charge,
      paid: true,
      captured: true,
      payment_method_details: { card: { last4: '4242' } },
    });
    const refund = await stripe.refunds.create({ payment_intent: intent.id, amount: 250, metadata: { refund: 'r1' } });
    expect(await stripe.refunds.retrieve(refund.id)).toMatchObject({
      charge: charge?.id,
      amount: 250,
      status: 'succeeded',
    });
    expect((await stripe.refunds.update(refund.id, { metadata: { refund: 'r2' } })).metadata).toEqual({ refund: 'r2' });
    expect((await stripe.refunds.list({ charge: String(charge?.id) })).data).toHaveLength(1);
    expect((await stripe.charges.retrieve(String(charge?.id))).amount_refunded).toBe(250);
    const movements = await stripe.balanceTransactions.list({});
    expect(movements.data.map(({ type, amount, fee, net }) => ({ type, amount, fee, net }))).toEqual([
      { type: 'refund', amount: -250, fee: 0, net: -250 },
      { type: 'charge', amount: 1000, fee: 59, net: 941 },
    ]);
    expect((await stripe.balanceTransactions.list({ source: refund.id })).data).toHaveLength(1);
    expect((await stripe.balanceTransactions.retrieve(String(refund.balance_transaction))).source).toBe(refund.id);
    await expect(stripe.refunds.cancel(refund.id)).rejects.toMatchObject({ statusCode: 400 });
  });

  test('disputes: list, retrieve, update, submit, close', async () => {
    const stripe = sdk((await newSandbox()).url);
    const intent = await stripe.paymentIntents.create({
      amount: 1000,
      currency: 'usd',
      payment_method: 'pm_card_createDispute',
      confirm: true,
    });
    const [dispute] = (await stripe.disputes.list({ payment_intent: intent.id })).data;
    const id = String(dispute?.id);
    const drafted = await stripe.disputes.update(id, {
      evidence: { product_description: 'First aid kit' },
      submit: false,
    });
    expect(drafted).toMatchObject({
      status: 'needs_response',
      evidence_details: { has_evidence: true, submission_count: 0 },
    });
    expect((await stripe.disputes.update(id, { submit: true })).status).toBe('under_review');
    expect((await stripe.disputes.close(id)).status).toBe('lost');
    expect((await stripe.disputes.retrieve(id)).status).toBe('lost');
  });

  test('accounts, webhook endpoints and events', async () => {
    const { url } = await newSandbox();
    const stripe = sdk(url);
    const account = await stripe.accounts.create({ type: 'custom', country: 'US', metadata: { eligo: 'x' } });
    expect(account.charges_enabled).toBe(true);
    expect((await stripe.accounts.list()).data).toHaveLength(1);
    expect((await stripe.accounts.retrieve(account.id)).metadata).toEqual({ eligo: 'x' });

    const endpoint = await stripe.webhookEndpoints.create({
      url: 'http://127.0.0.1:9/hooks',
      enabled_events: ['charge.succeeded'],
    });
    expect(endpoint.secret).toMatch(/^whsec_/);
    expect((await stripe.webhookEndpoints.retrieve(endpoint.id)).secret).toBeUndefined();
    expect((await stripe.webhookEndpoints.update(endpoint.id, { disabled: true })).status).toBe('disabled');
    expect((await stripe.webhookEndpoints.list()).data).toHaveLength(1);
    expect((await stripe.webhookEndpoints.del(endpoint.id)).deleted).toBe(true);

    const partner = sdk(url, account.id);
    await partner.paymentIntents.create({
      amount: 1000,
      currency: 'usd',
      payment_method: 'pm_card_visa',
      confirm: true,
    });
    const types = (await partner.events.list()).data.map(({ type }) => type);
    expect(types).toEqual(['payment_intent.succeeded', 'charge.succeeded', 'payment_intent.created']);
    const [succeeded] = (await partner.events.list({ type: 'charge.succeeded' })).data;
    expect(await partner.events.retrieve(String(succeeded?.id))).toMatchObject({
      account: account.id,
      data: { object: { object: 'charge', amount: 1000 } },
    });
    expect((await stripe.events.list()).data).toEqual([]);
  });

  test('a missing record is a StripeInvalidRequestError with status 404 or, in a parameter, 400', async () => {
    const stripe = sdk((await newSandbox()).url);
    await expect(stripe.paymentIntents.retrieve('pi_none')).rejects.toMatchObject({
      type: 'StripeInvalidRequestError',
      statusCode: 404,
      code: 'resource_missing',
    });
    await expect(
      stripe.paymentIntents.create({ amount: 1000, currency: 'usd', customer: 'cus_none' }),
    ).rejects.toMatchObject({
      statusCode: 400,
      code: 'resource_missing',
      param: 'customer',
    });
  });

  test('a wrong key is a StripeAuthenticationError; Basic works as well as Bearer', async () => {
    const { url } = await newSandbox();
    const { hostname, port } = new URL(url);
    const wrong = new Stripe('sk_test_wrong', { host: hostname, port, protocol: 'http', maxNetworkRetries: 0 });
    await expect(wrong.customers.list()).rejects.toMatchObject({ type: 'StripeAuthenticationError', statusCode: 401 });
    const basic = await fetch(new URL('/v1/customers', url), {
      headers: { authorization: `Basic ${Buffer.from(`${secretKey}:`).toString('base64')}` },
    });
    expect(basic.status).toBe(200);
  });
});

/** The fields of an interface of the SDK, from its own declarations: which there must be, and which there may be. */
function fieldsOf(file: string, name: string): { required: string[]; known: string[] } {
  const directory = join(dirname(createRequire(import.meta.url).resolve('stripe')), '..');
  const text = readFileSync(join(directory, 'esm', 'resources', file), 'utf8');
  const body = text.match(new RegExp(`^export interface ${name} \\{\\n([\\s\\S]*?)^\\}`, 'm'))?.[1];
  if (body === undefined) throw new Error(`the SDK declares no ${name}`);
  const fields = [...body.matchAll(/^ {4}([a-z_0-9]+)(\??):/gm)];
  return {
    required: fields.flatMap(([, field, optional]) => (field !== undefined && optional === '' ? [field] : [])),
    known: fields.flatMap(([, field]) => field ?? []),
  };
}

describe('objects', () => {
  test('have every field that the SDK declares as always there, and none that it does not know', async () => {
    const { url } = await newSandbox();
    const stripe = sdk(url);
    const intent = await stripe.paymentIntents.create({
      amount: 1000,
      currency: 'usd',
      payment_method: 'pm_card_createDispute',
      confirm: true,
    });
    const refundable = await stripe.paymentIntents.create({
      amount: 1000,
      currency: 'usd',
      payment_method: 'pm_card_visa',
      confirm: true,
    });
    const refund = await stripe.refunds.create({ payment_intent: refundable.id });
    const file = { data: Buffer.from('%PDF-1.4'), name: 'a.pdf', type: 'application/pdf' };
    const objects: [string, string, object | undefined][] = [
      ['PaymentIntents.d.ts', 'PaymentIntent', intent],
      ['Charges.d.ts', 'Charge', await stripe.charges.retrieve(String(intent.latest_charge))],
      ['Refunds.d.ts', 'Refund', refund],
      [
        'BalanceTransactions.d.ts',
        'BalanceTransaction',
        await stripe.balanceTransactions.retrieve(String(refund.balance_transaction)),
      ],
      ['Disputes.d.ts', 'Dispute', (await stripe.disputes.list()).data[0]],
      ['Files.d.ts', 'File', await stripe.files.create({ purpose: 'dispute_evidence', file })],
      ['PaymentMethods.d.ts', 'PaymentMethod', await stripe.paymentMethods.retrieve(String(intent.payment_method))],
      [
        'ConfirmationTokens.d.ts',
        'ConfirmationToken',
        await stripe.testHelpers.confirmationTokens.create({ payment_method: 'pm_card_visa' }),
      ],
      ['SetupIntents.d.ts', 'SetupIntent', await stripe.setupIntents.create({})],
      ['Customers.d.ts', 'Customer', await stripe.customers.create({})],
      ['Accounts.d.ts', 'Account', await stripe.accounts.create({})],
      [
        'WebhookEndpoints.d.ts',
        'WebhookEndpoint',
        await stripe.webhookEndpoints.create({ url: 'http://127.0.0.1:9', enabled_events: ['*'] }),
      ],
    ];
    const differences = objects.map(([file, name, object]) => {
      const { required, known } = fieldsOf(file, name);
      const fields = Object.keys(object ?? {});
      return {
        name,
        missing: required.filter((field) => !fields.includes(field)),
        unknown: fields.filter((field) => !known.includes(field)),
      };
    });
    expect(differences).toEqual(objects.map(([, name]) => ({ name, missing: [], unknown: [] })));
  });
});

describe('requests', () => {
  test.each([
    [{ amount: '49', currency: 'usd' }, 'amount', 'amount_too_small'],
    [{ amount: '100000000', currency: 'usd' }, 'amount', 'amount_too_large'],
    [{ amount: '10.5', currency: 'usd' }, 'amount', 'parameter_invalid_integer'],
    [{ amount: '', currency: 'usd' }, 'amount', 'parameter_invalid_empty'],
    [{ amount: '1000' }, 'currency', 'parameter_missing'],
    [{ amount: '1000', currency: 'eur' }, 'currency', undefined],
    [{ amount: '1000', currency: 'usd', colour: 'red' }, 'colour', 'parameter_unknown'],
    [{ amount: '1000', currency: 'usd', capture_method: 'later' }, 'capture_method', undefined],
    [{ amount: '1000', currency: 'usd', off_session: 'true' }, 'off_session', undefined],
    [{ amount: '1000', currency: 'usd', 'metadata[a]': 'x'.repeat(501) }, 'metadata[a]', undefined],
  ])('%j is a 400 that names the parameter', async (form: Record<string, string>, param, code) => {
    const stripe = sender((await newSandbox()).url);
    const { status, json } = await stripe.post('/v1/payment_intents', form);
    expect([status, json.error.param, json.error.code]).toEqual([400, param, code]);
  });

  test('strange input is refused with a 4xx and is not a bug', async () => {
    const { url } = await newSandbox();
    const stripe = sender(url);
    const answers = [
      await stripe.get('/v1/payment_intents/%00'),
      await stripe.get('/v1/nothing'),
      await stripe.get('/v1/payment_intents?limit=1e3'),
      await stripe.get('/v1/payment_intents?starting_after=pi_none'),
      await stripe.get('/v1/payment_intents?created[gte]=never'),
      await stripe.get('/v1/payment_intents/search?query=status'),
      await stripe.post('/v1/payment_intents', { 'amount[a]': '1' }),
      await stripe.post('/v1/customers', { name: 'x'.repeat(6000) }),
      await stripe.post('/v1/refunds', {}),
      await stripe.post('/v1/customers', {}, 'k'.repeat(256)),
      await stripe.witness('POST', '/sandbox/clock', { advance_ms: -1 }),
      await stripe.witness('POST', '/sandbox/refunds/re_none/fail'),
      await stripe.witness('PUT', '/sandbox/charges'),
    ];
    expect(answers.map(({ status }) => (status >= 400 && status < 500 ? 'refused' : status))).toEqual(
      answers.map(() => 'refused'),
    );
  });

  test('accounts do not see each other', async () => {
    const { url } = await newSandbox();
    const [one, two] = [sender(url, 'acct_test0001'), sender(url, 'acct_test0002')];
    const { json: intent } = await one.post('/v1/payment_intents', {
      amount: '1000',
      currency: 'usd',
      payment_method: 'pm_card_visa',
      confirm: 'true',
    });
    const paths = [
      `payment_intents/${intent.id}`,
      `charges/${intent.latest_charge}`,
      `payment_methods/${intent.payment_method}`,
    ];
    for (const path of paths) {
      expect((await one.get(`/v1/${path}`)).status).toBe(200);
      expect((await two.get(`/v1/${path}`)).status).toBe(404);
    }
    expect((await two.post('/v1/refunds', { payment_intent: intent.id })).status).toBe(400);
    expect((await two.get('/v1/balance_transactions')).json.data).toEqual([]);
    expect((await sender(url, 'nobody').get('/v1/customers')).status).toBe(403);
  });

  test('the witness asks for the key on this machine as well, and refuses pages in browsers and foreign hosts [D14.225]', async () => {
    const { url } = await newSandbox();
    const authorization = `Bearer ${secretKey}`;
    const status = async (headers: Record<string, string>) =>
      (await fetch(new URL('/sandbox/charges', url), { headers })).status;
    expect(await status({})).toBe(401);
    expect(await status({ authorization: 'Bearer wrong' })).toBe(401);
    expect(await status({ authorization })).toBe(200);
    expect(await status({ authorization, origin: 'https://evil.example' })).toBe(403);
    const clock = { method: 'POST', headers: { 'content-type': 'text/plain' }, body: '{"advance_ms":1000}' };
    expect((await fetch(new URL('/sandbox/clock', url), clock)).status).toBe(401);
    // A name of theirs that resolves to this machine.
    const rebound = await new Promise<number | undefined>((resolve, reject) => {
      const headers = { authorization, host: 'rebound.evil.example' };
      get(new URL('/sandbox/charges', url), { headers }, (response) => {
        response.resume();
        resolve(response.statusCode);
      }).once('error', reject);
    });
    expect(rebound).toBe(403);
    expect((await fetch(new URL('/healthz', url))).status).toBe(200);
  });
});
