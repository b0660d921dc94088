import { expect, test } from 'vitest';
import { startSandbox } from '../src/index.ts';
import { newHome, secretKey, sender } from './support.ts';

test("each request is one line, with the names that Eligo's components use, and nothing of its contents", async () => {
  const lines: Record<string, unknown>[] = [];
  const sandbox = await startSandbox({
    ...{ home: newHome(), host: '127.0.0.1', port: 0, secretKey },
    logger: { info: (fields) => lines.push({ ...fields }), error: (fields) => lines.push({ ...fields }) },
  });
  const stripe = sender(sandbox.url);
  await fetch(`${sandbox.url}/healthz`);
  const made = await stripe.post('/v1/payment_intents', { amount: '5885', currency: 'usd', description: 'Knee brace' });
  const { id } = made.json;
  const declined = await stripe.post(`/v1/payment_intents/${id}/confirm`, { payment_method: 'pm_card_chargeDeclined' });
  expect(declined.status).toBe(402);
  await fetch(`${sandbox.url}/v1/payment_intents/${id}`);
  await sandbox.stop();

  const common = { requestId: expect.stringMatching(/^req_/), durationMs: expect.any(Number) };
  expect(lines).toEqual([
    { ...common, route: 'payment_intents.create', status: 200, recordId: id, processorAccountId: expect.any(String) },
    {
      ...{ ...common, route: 'payment_intents.confirm', status: 402, recordId: id },
      ...{ code: 'generic_decline', processorAccountId: expect.any(String) },
    },
    { ...common, route: 'none', status: 401, code: 'invalid_request_error' },
  ]);
  expect(JSON.stringify(lines)).not.toContain('Knee brace');
});
