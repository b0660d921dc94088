import { connect, type Socket } from 'node:net';
import { limits } from '@eligo/contract';
import { processTurns } from '@eligo/service';
import { apiClient, waitUntil } from '@eligo/testkit';
import { collectGarbage } from '@eligo/testkit/collect-garbage';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { createAccount, createKey } from '../src/index.ts';
import { openTestGateway, type TestGateway } from './open-test-gateway.ts';

let stack: TestGateway;
beforeAll(async () => {
  stack = await openTestGateway();
});
afterAll(() => stack?.stop());

const sockets: Socket[] = [];
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
});

/** Announces the largest body and sends all of it but one byte. `said` is what came back. */
function stall(bytes: Buffer): { said: string } {
  const { hostname, port } = new URL(stack.url);
  const state = { said: '' };
  const socket = connect(Number(port), hostname, () => {
    const key = `Authorization: Bearer ${stack.api.key}\r\nContent-Type: application/json\r\n`;
    socket.write(`POST /v1/products HTTP/1.1\r\nHost: a\r\n${key}Content-Length: ${limits.bodyBytes}\r\n\r\n`);
    socket.write(bytes);
  });
  socket
    .on('error', () => undefined)
    .on('data', (chunk) => {
      state.said += chunk;
    });
  sockets.push(socket);
  return state;
}

test('120 bodies of 1 MB that stop before their last byte take no more than 24 MB for long, and another account is served [D14.136]', async () => {
  const { account_id: accountId } = await createAccount(stack.database, { name: 'Another shop' });
  const { api_key: otherKey } = await createKey(stack.database, { accountId, testMode: true, rateLimit: 0 });
  collectGarbage();
  const before = process.memoryUsage().arrayBuffers;
  const bytes = Buffer.alloc(limits.bodyBytes - 1, 'x');
  const stalled = Array.from({ length: 120 }, () => stall(bytes));
  const refused = () => stalled.filter(({ said }) => said.startsWith('HTTP/1.1 429 '));
  await waitUntil(() => refused().length >= 96, { what: 'the refusals', withinMs: 15_000 });
  expect(refused()[0]?.said).toMatch(/\r\nRetry-After: 1\r\n/i);
  // Half of 48 MiB, before any of those is cut off for being slow.
  const isWithin = () => {
    collectGarbage();
    return process.memoryUsage().arrayBuffers - before - bytes.length < 24 * 1_048_576 + 8_000_000;
  };
  await waitUntil(isWithin, { what: 'what the refused ones took to be free', withinMs: 4_000 });
  const made = await apiClient(stack.url, otherKey).post('/v1/products', { product: { name: 'x'.repeat(100) } });
  expect(made.status).toBe(200);
  // An account does not count as waiting while its client sends a body, so that no other account is held to its share.
  const { neighbors } = processTurns();
  expect([...neighbors.othersOf({ accountId, testMode: true })]).not.toContain(stack.accountId);
}, 30_000);
