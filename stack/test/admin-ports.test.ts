import { createServer } from 'node:net';
import { freePorts } from '@eligo/ports';
import { expect, it } from 'vitest';
import { adminPorts } from '../src/admin-ports.ts';

it('gives each replica an admin port of its own number, and tells which are in use [D14.219]', async () => {
  // Below what other tests find, and different each time.
  const [base = 0] = await freePorts(1);
  const first = 10_100 + (base % 4_000);
  const taken = createServer().listen(first + 2, '127.0.0.1');
  await new Promise((resolve) => taken.once('listening', resolve));
  const told: string[] = [];
  const ports = await adminPorts(first, { checkout: 2 }, (name, port) => told.push(`${name} ${port - first}`));
  expect([...ports].map(([name, port]) => [name, port - first])).toEqual([
    ...[
      ['catalog', 0],
      ['checkout', 1],
      ['checkout-2', 11],
    ],
    ...[
      ['refunds', 3],
      ['webhooks', 4],
      ['gateway', 5],
    ],
  ]);
  expect(told).toEqual(['billing 2']);
  // A second stack finds all in use, also while the first has not opened them yet.
  expect(await adminPorts(first, {}, () => undefined)).toEqual(new Map());
  await new Promise((resolve) => taken.close(resolve));
});
