import { type Db, type Scope, scoped, type Tx } from '@eligo/postgres';

/** What an account says of HSA and FSA cards in live mode. */
export interface HealthCardStatement {
  /** Null: it charges none. */
  readonly substantiation: string | null;
  /** Orders the statements of an account. */
  readonly version: bigint;
}

/** Stores a statement of an account; false when this one or a newer one is stored already. */
export async function recordStatement(tx: Tx, scope: Scope, statement: HealthCardStatement): Promise<boolean> {
  return (await tx.execute(record, scope, [statement.substantiation, statement.version])) === 1;
}

/** What an account said last; undefined while the gateway has told nothing of it. */
export async function findStatement(db: Db, scope: Scope): Promise<HealthCardStatement | undefined> {
  return db.row(find, scope);
}

const record = scoped<never>(
  'health_card_statements.record',
  `insert into checkout.health_card_statements as known (account_id, test_mode, substantiation, version)
   values ($1, $2, $3, $4)
   on conflict (account_id, test_mode) do update
     set substantiation = excluded.substantiation, version = excluded.version, recorded_at = clock_timestamp()
     where known.version < excluded.version`,
);
const find = scoped<HealthCardStatement>(
  'health_card_statements.find',
  `select substantiation, version from checkout.health_card_statements where account_id = $1 and test_mode = $2`,
);
