import { type Database, type Db, migrationSource, unscoped } from '@eligo/postgres';
import type { Operator } from '@eligo/rpc';

/** The audit log of operators, a table of each component's schema. */
export const operatorMigrations = migrationSource('operators', new URL('../migrations', import.meta.url));

/** What an operator is about to do, as the audit log keeps it: identifiers and names of methods, never what is in a request. */
export interface RecordedAction {
  readonly operator: Operator;
  /** Undefined together with the operator's id. */
  readonly loginId: string | undefined;
  readonly action: string;
  readonly scope: { readonly accountId: string; readonly testMode?: boolean | undefined } | undefined;
  readonly subjectId: string | undefined;
  readonly requestId: string;
  /** The proof that a call on an admin port came with; another action with the same one violates `operator_proof_once`. */
  readonly proofId?: string | undefined;
  /** Whether the operator may not do it. */
  readonly refused?: boolean | undefined;
}

const insert = unscoped<never>(
  'service_record_operator_action',
  `insert into operator_actions (operator_id, operator_name, login_id, action, account_id, test_mode, subject_id, request_id)
   values ($1, $2, $3, $4, $5, $6, $7, $8)`,
);

// Only a refusal needs the column: the command that migrates to it is recorded before it is there.
const insertRefused = unscoped<never>(
  'service_record_refused_operator_action',
  `insert into operator_actions (operator_id, operator_name, login_id, action, account_id, test_mode, subject_id, request_id, refused)
   values ($1, $2, $3, $4, $5, $6, $7, $8, true)`,
);

// Only a call on an admin port needs the column: as above.
const insertProven = unscoped<never>(
  'service_record_proven_operator_action',
  `insert into operator_actions (operator_id, operator_name, login_id, action, account_id, test_mode, subject_id, request_id, refused, proof_id)
   values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
);

/** Commits before the action begins, or before it is refused. */
export async function recordOperatorAction(database: Database, action: RecordedAction): Promise<void> {
  const { operator, loginId, scope, proofId } = action;
  const values = [
    ...[operator.id ?? null, operator.name, loginId ?? null, action.action],
    ...[scope?.accountId ?? null, scope?.testMode ?? null, action.subjectId ?? null, action.requestId],
  ];
  if (proofId !== undefined) await database.execute(insertProven, null, [...values, action.refused === true, proofId]);
  else await database.execute(action.refused ? insertRefused : insert, null, values);
}

/** A row of the audit log. */
export interface OperatorActionRow {
  readonly at: Date;
  readonly operator_id: string | null;
  readonly operator_name: string;
  readonly login_id: string | null;
  readonly action: string;
  readonly account_id: string | null;
  readonly test_mode: boolean | null;
  readonly subject_id: string | null;
  readonly request_id: string;
  readonly refused: boolean;
}

/** The newest actions of a component's schema, those of one account or operator if named. */
export async function listOperatorActions(
  db: Db,
  filter: { accountId?: string | undefined; operatorName?: string | undefined; most: number },
): Promise<OperatorActionRow[]> {
  const { accountId, operatorName, most } = filter;
  if (accountId !== undefined && operatorName !== undefined)
    return db.rows(ofAccountByOperator, null, [most, accountId, operatorName]);
  if (accountId !== undefined) return db.rows(ofAccount, null, [most, accountId]);
  return operatorName === undefined ? db.rows(all, null, [most]) : db.rows(byOperator, null, [most, operatorName]);
}

// One statement for each filter: a plan for all values of a condition such as `$2 is null or account_id = $2` reads the whole log. Each names the
// order of its index, by a range of one value: by an equal value the planner leaves the column out of the order, and then reads the log by its numbers.
const all = listed('service_list_operator_actions', 'order by number desc');
const ofAccount = listed(
  'service_list_operator_actions_of_account',
  'where account_id between $2 and $2 order by account_id desc, number desc',
);
const byOperator = listed(
  'service_list_operator_actions_by_operator',
  'where operator_name between $2 and $2 order by operator_name desc, number desc',
);
const ofAccountByOperator = listed(
  'service_list_actions_of_account_by_operator',
  'where account_id = $2 and operator_name between $3 and $3 order by operator_name desc, number desc',
);

function listed(name: string, those: string) {
  return unscoped<OperatorActionRow>(
    name,
    `select at, operator_id, operator_name, login_id, action, account_id, test_mode, subject_id, request_id, refused
       from operator_actions ${those} limit $1`,
  );
}
