import { create } from '@bufbuild/protobuf';
import type { Database } from '@eligo/postgres';
import { CallerContextSchema } from '@eligo/proto/caller/v1/caller';
import { type TestDatabase, testDatabase } from '@eligo/testkit';
import { afterAll, beforeAll } from 'vitest';
import { type Telling, tellChanges } from '../src/accounts/tell-changes.ts';
import { gatewayService } from '../src/index.ts';

/** The gateway's database of a test file: opened before its tests, and dropped after them. */
export function useGatewayDatabase(): { readonly databases: TestDatabase; readonly database: Database } {
  let databases: TestDatabase;
  let database: Database;
  beforeAll(async () => {
    databases = await testDatabase(gatewayService);
    database = databases.open('gateway');
  });
  afterAll(() => databases?.drop());
  return {
    get databases() {
      return databases;
    },
    get database() {
      return database;
    },
  };
}

/** Makes the job that tells these services what is queued. Each call is a run of it. */
export function teller<Value, Services>(
  database: Database,
  telling: Telling<Value, Services>,
  services: Services,
): () => Promise<unknown> {
  const job = tellChanges(telling, database, services, ({ accountId, testMode }) =>
    create(CallerContextSchema, { accountId, testMode }),
  );
  return () => job.run(new AbortController().signal);
}
