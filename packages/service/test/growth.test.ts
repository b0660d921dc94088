import { eventsMigrations } from '@eligo/events';
import { openDatabase } from '@eligo/postgres';
import {
  accountSizes,
  fillTables,
  growths,
  type Readings,
  readStatements,
  statementsNotRun,
  type TestDatabase,
} from '@eligo/testkit';
import pg from 'pg';
import { beforeAll, expect, test } from 'vitest';
import {
  keyringCheck,
  listOperatorActions,
  openKeyring,
  operatorMigrations,
  type RecordedAction,
  recordOperatorAction,
} from '../src/index.ts';
import { migrationsCurrent } from '../src/migrations-current.ts';
import { serviceDatabase } from './support.ts';

let read: { small: Readings; large: Readings };
beforeAll(async () => {
  read = { small: await readWith(accountSizes.small), large: await readWith(accountSizes.large) };
}, 120_000);

test('every statement that all services have for their start and for the audit log is run on the long log', () => {
  expect(statementsNotRun(read.large, 'service_')).toEqual([]);
});

test('no statement reads more in a long audit log than in a short one [D14.397]', () => {
  expect(growths(read.small, read.large)).toEqual([]);
});

type Admin = TestDatabase['admin'];

async function readWith(each: number): Promise<Readings> {
  const database = await serviceDatabase('catalog');
  const superuser = new pg.Pool({ connectionString: database.adminUrl, max: 2 });
  // The database is dropped before the server has let go of it.
  superuser.on('error', (error) => void error);
  const admin: Admin = async <Row extends pg.QueryResultRow>(text: string, values: unknown[] = []) =>
    (await superuser.query<Row>(text, values)).rows;
  try {
    const name = new URL(database.adminUrl).pathname.slice(1);
    await seed(admin, each);
    const readings = await readStatements({ name, admin }, { sequentialScans: each > accountSizes.small });
    await run(database.url, false);
    await run(database.url, true);
    return readings;
  } finally {
    await superuser.end();
    await database.drop();
  }
}

// One operator did nearly everything, in one account. The first ten actions are another one's, in another account.
async function seed(admin: Admin, each: number): Promise<void> {
  await admin(`
    create table catalog.sealing_keys (key_id text collate "C" primary key, fingerprint bytea not null);
    grant select, insert on catalog.sealing_keys to public`);
  await fillTables({ admin }, 'catalog', [
    `operator_actions (operator_id, operator_name, login_id, action, account_id, test_mode, request_id, proof_id)
     select 'foper_1', case when n <= 10 then 'Rare' else 'Often' end, 'login_1', 'catalog.GetPrice',
       case when n <= 5 then 'facct_rare' else 'facct_often' end, true, 'req', lpad(n::text, 22, '0') from generate_series(1, ${each}) n`,
  ]);
}

// As a service connects, and as the command-line tool does; each list as often as a connection needs to keep its plan.
async function run(url: string, readsByKey: boolean): Promise<void> {
  const database = openDatabase({ url, applicationName: 'growth', schema: 'catalog', max: 1, readsByKey });
  try {
    await migrationsCurrent(database, [eventsMigrations, operatorMigrations])();
    const keyring = openKeyring(`k:${Buffer.alloc(32).toString('base64')}`);
    await keyringCheck(database, keyring, 'secrets')();
    const proofId = (readsByKey ? 'a' : 'b').repeat(22);
    for (const more of [{}, { refused: true }, { proofId }])
      await recordOperatorAction(database, { ...action, ...more });
    const accounts = [undefined, 'facct_rare', 'facct_often', 'facct_none'];
    for (let times = 0; times < 8; times += 1) {
      for (const accountId of accounts) {
        for (const operatorName of [undefined, 'Rare', 'Often', 'None'])
          await listOperatorActions(database, { accountId, operatorName, most: 10 });
      }
    }
  } finally {
    await database.close();
  }
}

const action: RecordedAction = {
  ...{ operator: { id: 'foper_1', name: 'Often' }, loginId: 'login_1', action: 'catalog.GetPrice' },
  ...{ scope: { accountId: 'facct_often', testMode: true }, subjectId: 'fprice_1', requestId: 'req_1' },
};
