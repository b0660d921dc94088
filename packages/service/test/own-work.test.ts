import { eventsMigrations } from '@eligo/events';
import { asOwnWork, isOwnWork } from '@eligo/postgres';
import { CatalogService } from '@eligo/proto/catalog/v1/catalog';
import { client, implement, inProcessTransport } from '@eligo/rpc';
import { grpcTransport } from '@eligo/rpc/grpc';
import { expect, onTestFinished, test } from 'vitest';
import { buildService, createLogger, operatorMigrations } from '../src/index.ts';
import { catalogEnvironment, identityOf, serviceDatabase } from './support.ts';

test('a call waits for connections as its account’s or beside it by who made it, in one process as over gRPC [D14.387]', async () => {
  const marks: boolean[] = [];
  const handlers = implement(CatalogService, {
    async batchGetPrices() {
      await Promise.resolve();
      marks.push(isOwnWork());
      return {};
    },
  });
  const database = await serviceDatabase('catalog');
  const service = await buildService(
    { name: 'catalog', migrations: [eventsMigrations, operatorMigrations], build: () => ({ handlers: [handlers] }) },
    { environment: catalogEnvironment(database.url), logger: createLogger({ service: 'catalog', level: 'silent' }) },
  );
  const { grpcPort } = await service.start();
  const grpc = grpcTransport({ address: `http://127.0.0.1:${grpcPort}` });
  onTestFinished(async () => {
    grpc.close();
    await service.stop();
    await database.drop();
  });
  const [gateway, billing] = [identityOf('gateway'), identityOf('billing')];
  const account = { accountId: 'facct_1', testMode: false };
  const ofGateway = gateway.callerFor({ ...account, keyId: 'fkey_1' });
  const carriedOn = billing.verifyCaller(gateway.tokenOf(ofGateway) ?? '', 'gateway');
  const ownCall = billing.callerFor(account);
  for (const transport of [inProcessTransport(service.server), grpc]) {
    const by = (identity: typeof gateway) => client(CatalogService, transport, identity);
    const ask = async () => {
      await by(gateway).batchGetPrices({ ids: ['fprice_1'] }, { caller: ofGateway });
      await by(billing).batchGetPrices({ ids: ['fprice_1'] }, { caller: carriedOn });
      await by(billing).batchGetPrices({ ids: ['fprice_1'] }, { caller: ownCall });
      return marks.splice(0);
    };
    expect(await ask()).toEqual([false, false, true]);
    expect(await asOwnWork(ask)).toEqual([false, false, true]);
  }
});
