import type { CallerContext } from '@eligo/proto/caller/v1/caller';
import { HealthService } from '@eligo/proto/health/v1/health';
import {
  type CallerInit,
  type Client,
  client,
  generateComponentKeys,
  inProcessTransport,
  openIdentity,
  rpcServer,
} from '@eligo/rpc';
import { NotReady, readinessCaller, ServesDegraded } from '@eligo/service';
import { expect, test } from 'vitest';
import type { Peers } from '../src/peers.ts';
import { peerChecks } from '../src/readiness.ts';

function peersThat(read: () => Promise<unknown>): Peers {
  const peer = new Proxy({}, { get: () => read });
  return { catalog: peer, checkout: peer, billing: peer, refunds: peer, webhooks: peer } as unknown as Peers;
}

test('readiness checks ask each service on behalf of nobody, so that they are no neighbor of an account [D14.242]', async () => {
  const signed: CallerInit[] = [];
  const sign = (init: CallerInit) => {
    signed.push(init);
    return {} as CallerContext;
  };
  const well = { check: async () => ({ status: 'ok', failedChecks: [] }) } as unknown as Client<typeof HealthService>;
  const { wanted } = peerChecks(
    peersThat(async () => ({})),
    sign,
    () => well,
  );
  await Promise.all(Object.values(wanted).map((check) => check()));
  expect(signed).toEqual(Array.from({ length: 5 }, () => readinessCaller));
});

test('a service of a release that cannot tell its readiness is judged by its reads [D14.392]', async () => {
  const { privateKeys, publicKeys } = generateComponentKeys(['gateway', 'catalog']);
  const identityOf = (name: 'gateway' | 'catalog') =>
    openIdentity({ name, privateKey: privateKeys[name] ?? '', publicKeys });
  const gateway = identityOf('gateway');
  const catalog = inProcessTransport(rpcServer({ handlers: [], identity: identityOf('catalog') }));
  const health = client(HealthService, catalog, gateway, { callee: 'catalog' });
  let answersReads = true;
  const read = async () => {
    if (!answersReads) throw new Error('The service is gone');
  };
  const { wanted } = peerChecks(
    peersThat(read),
    (init) => gateway.callerFor(init),
    () => health,
  );
  await expect(wanted.catalog?.()).resolves.toBeUndefined();
  answersReads = false;
  await expect(wanted.catalog?.()).rejects.toThrow('The service is gone');
});

test('a service that is degraded serves, one that is unavailable fails, and a replica that drains is well [D14.392]', async () => {
  let told = { status: 'degraded', failedChecks: ['disk'] };
  const health = { check: async () => told } as unknown as Client<typeof HealthService>;
  const { wanted } = peerChecks(
    peersThat(async () => ({})),
    () => ({}) as CallerContext,
    () => health,
  );
  await expect(wanted.catalog?.()).rejects.toEqual(new ServesDegraded('degraded: disk'));
  told = { status: 'unavailable', failedChecks: ['migrations'] };
  await expect(wanted.catalog?.()).rejects.toEqual(new NotReady('unavailable: migrations'));
  told = { status: 'unavailable', failedChecks: ['stopping'] };
  await expect(wanted.catalog?.()).resolves.toBeUndefined();
});
