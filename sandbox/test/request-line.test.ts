import { allowedFields } from '@eligo/service';
import { expect, test } from 'vitest';
import { startSandbox } from '../src/index.ts';
import { newHome, secretKey, sender } from './support.ts';

test("each request is one line, with the names that Eligo's components use and the request id of its caller, and nothing of its contents [D14.220, D14.360]", async () => {
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
  const named = (requestId: string) =>
    fetch(`${sandbox.url}/v1/charges`, {
      headers: { 'eligo-request-id': requestId, authorization: `Bearer ${secretKey}` },
    });
  const answer = await named('freq_1');
  await named('not an id: 4242 4242 4242 4242');
  await sandbox.stop();

  const own = expect.stringMatching(/^req_/);
  const common = { requestId: own, processorRequestId: own, durationMs: expect.any(Number) };
  expect(lines).toEqual([
    { ...common, route: 'payment_intents.create', status: 200, recordId: id, processorAccountId: expect.any(String) },
    {
      ...{ ...common, route: 'payment_intents.confirm', status: 402, recordId: id },
      ...{ code: 'generic_decline', processorAccountId: expect.any(String) },
    },
    { ...common, route: 'none', status: 401, code: 'invalid_request_error' },
    expect.objectContaining({ requestId: 'freq_1', processorRequestId: answer.headers.get('request-id') }),
    expect.objectContaining({ requestId: own }),
  ]);
  for (const { requestId, processorRequestId } of lines)
    expect(requestId === processorRequestId).toBe(requestId !== 'freq_1');
  // None of them would be withheld or left out by Eligo's own logger.
  for (const line of lines) expect(allowedFields(line)).toEqual(line);
  expect(JSON.stringify(lines)).not.toContain('Knee brace');
});
