import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type Stripe from 'stripe';
import { expect, onTestFinished, test } from 'vitest';
import { newHome, newSandbox, sdk } from './support.ts';

interface Receiver {
  url: string;
  received: { body: string; signature: string }[];
  answer: number;
}

async function newReceiver(answer = 200): Promise<Receiver> {
  const receiver: Receiver = { url: '', received: [], answer };
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    receiver.received.push({ body, signature: String(request.headers['stripe-signature']) });
    response.writeHead(receiver.answer).end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  receiver.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hooks`;
  return receiver;
}

const events: Stripe.WebhookEndpointCreateParams.EnabledEvent[] = ['charge.succeeded', 'payment_intent.succeeded'];

test('what happens is delivered to those who subscribed, signed so that the SDK accepts it', async () => {
  const stripe = sdk((await newSandbox()).url);
  const receiver = await newReceiver();
  const { secret } = await stripe.webhookEndpoints.create({ url: receiver.url, enabled_events: events });
  await stripe.paymentIntents.create({ amount: 1000, currency: 'usd', payment_method: 'pm_card_visa', confirm: true });
  await expect.poll(() => receiver.received.length).toBe(2);
  const delivered = receiver.received.map(({ body, signature }) =>
    stripe.webhooks.constructEvent(body, signature, String(secret)),
  );
  expect(delivered.map(({ type }) => type).sort()).toEqual(events);
  const [known] = (await stripe.events.list({ type: 'charge.succeeded' })).data;
  expect(JSON.parse(JSON.stringify(delivered.find(({ type }) => type === 'charge.succeeded')))).toEqual(
    JSON.parse(JSON.stringify(known)),
  );
});

test('an endpoint of the platform with connect hears of the connected accounts, and only of them', async () => {
  const { url } = await newSandbox();
  const receiver = await newReceiver();
  await sdk(url).webhookEndpoints.create({ url: receiver.url, enabled_events: ['charge.succeeded'], connect: true });
  const pay = (stripe: Stripe) =>
    stripe.paymentIntents.create({ amount: 1000, currency: 'usd', payment_method: 'pm_card_visa', confirm: true });
  await pay(sdk(url));
  await pay(sdk(url, 'acct_test0001'));
  await expect.poll(() => receiver.received.length).toBe(1);
  expect(JSON.parse(receiver.received[0]?.body ?? '')).toMatchObject({
    type: 'charge.succeeded',
    account: 'acct_test0001',
  });
});

test('what is refused is sent again, also by the sandbox that is started next', async () => {
  const home = newHome();
  const receiver = await newReceiver(500);
  const first = await newSandbox(home);
  const stripe = sdk(first.url);
  await stripe.webhookEndpoints.create({ url: receiver.url, enabled_events: ['customer.created'] });
  await stripe.customers.create({});
  await expect.poll(() => receiver.received.length).toBe(1);
  await first.stop();
  receiver.answer = 204;
  await newSandbox(home);
  await expect.poll(() => receiver.received.length).toBe(2);
  expect(receiver.received[1]?.body).toBe(receiver.received[0]?.body);
});

test('a deleted endpoint gets nothing any more', async () => {
  const stripe = sdk((await newSandbox()).url);
  const [gone, there] = [await newReceiver(), await newReceiver()];
  const { id } = await stripe.webhookEndpoints.create({ url: gone.url, enabled_events: ['*'] });
  await stripe.webhookEndpoints.create({ url: there.url, enabled_events: ['*'] });
  await stripe.webhookEndpoints.del(id);
  await stripe.customers.create({});
  await expect.poll(() => there.received.length).toBe(1);
  expect(gone.received).toEqual([]);
});
