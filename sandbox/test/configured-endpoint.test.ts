import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { startSandbox } from '../src/index.ts';
import { newHome, sdk, secretKey } from './support.ts';

test('sends what Eligo handles of connected accounts to the configured address, signed, and lists it [D14.120]', async () => {
  const received: { body: string; signature: string }[] = [];
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    received.push({ body, signature: String(request.headers['stripe-signature']) });
    response.end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const home = newHome();
  const secret = 'whsec_configured';
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/processors/sandbox/events`;
  const options = { home, host: '127.0.0.1', port: 0, secretKey };
  const sandbox = await startSandbox({ ...options, events: { url, secret } });
  onTestFinished(async () => {
    server.close();
    server.closeAllConnections();
  });
  const pay = (account?: string) =>
    sdk(sandbox.url, account).paymentIntents.create({
      ...{ amount: 1000, currency: 'usd', payment_method: 'pm_card_visa', confirm: true },
    });
  await pay();
  await pay('acct_test0001');
  await expect.poll(() => received.length).toBe(1);
  const [{ body, signature } = { body: '', signature: '' }] = received;
  const [time, v1] = signature.split(',').map((part) => part.split('=')[1]);
  expect(v1).toBe(createHmac('sha256', secret).update(`${time}.${body}`).digest('hex'));
  expect(JSON.parse(body)).toMatchObject({ type: 'payment_intent.succeeded', account: 'acct_test0001' });
  const listed = await sdk(sandbox.url, 'acct_test0001').events.list({
    types: ['payment_intent.succeeded', 'refund.created'],
  });
  expect(listed.data.map(({ id }) => id)).toEqual([JSON.parse(body).id]);
  await sandbox.stop();
  // Without the variables the address is forgotten.
  const next = await startSandbox(options);
  onTestFinished(() => next.stop());
  expect((await sdk(next.url).webhookEndpoints.list()).data).toEqual([]);
});
