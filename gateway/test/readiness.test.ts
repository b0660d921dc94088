import type { CallerContext } from '@eligo/proto/caller/v1/caller';
import type { CallerInit } from '@eligo/rpc';
import { nobody } from '@eligo/service';
import { expect, it } from 'vitest';
import type { Peers } from '../src/peers.ts';
import { peerChecks } from '../src/readiness.ts';

it('readiness checks ask each service on behalf of nobody, so that they are no neighbor of an account [D14.242]', async () => {
  const signed: CallerInit[] = [];
  const read = async () => ({});
  const peers = {
    catalog: { listShippingRates: read },
    checkout: { listCharges: read },
    billing: { listInvoices: read },
    refunds: { listRefunds: read },
    webhooks: { listEndpoints: read },
  } as unknown as Peers;
  const { wanted } = peerChecks(peers, (init) => {
    signed.push(init);
    return {} as CallerContext;
  });
  await Promise.all(Object.values(wanted).map((check) => check()));
  expect(signed).toEqual(Array.from({ length: 5 }, () => nobody));
});
