import { randomBytes } from 'node:crypto';
import { type Database, isUniqueViolation, unscoped } from '@eligo/postgres';
import { newId } from '@eligo/values';
import { keyHash } from './key-format.ts';

/** A person who operates the installation. */
export interface OperatorRecord {
  readonly operator_id: string;
  readonly name: string;
  readonly created_at: Date;
  readonly revoked_at: Date | null;
}

/** Registers an operator. Answers with the personal credential, which is stored as its hash and shown here once. Throws a RangeError for a bad name. */
export async function addOperator(
  database: Database,
  given: { name: string },
): Promise<{ operatorId: string; name: string; credential: string }> {
  const name = given.name.trim();
  if (!nameSyntax.test(name)) {
    throw new RangeError('The name must have 1 to 200 characters, without control characters');
  }
  const operatorId = newId('operator');
  // 256 random bits, so that a guess needs no limit.
  const credential = `foperator_${randomBytes(32).toString('base64url')}`;
  try {
    await database.execute(insert, null, [operatorId, name, keyHash(credential)]);
  } catch (error) {
    if (!isUniqueViolation(error, 'operators_name_key')) throw error;
    throw new RangeError(
      `There is an operator ${name}; choose another name, the audit log tells operators apart by it`,
    );
  }
  return { operatorId, name, credential };
}

/** Whose credential it is; undefined when it is unknown or revoked. */
export async function findOperator(
  database: Database,
  credential: string,
): Promise<{ id: string; name: string } | undefined> {
  return database.row(byCredential, null, [keyHash(credential)]);
}

/** Ends an operator's credential. Logins end by themselves. False when there is no such operator, or it was revoked before. */
export async function revokeOperator(database: Database, operatorId: string): Promise<boolean> {
  return (await database.execute(revoke, null, [operatorId])) === 1;
}

/** The operators, newest first, without their credentials; an installation has a few dozen. */
export async function listOperators(database: Database): Promise<OperatorRecord[]> {
  return database.rows(list, null, [mostOperators]);
}

const mostOperators = 1_000;
const nameSyntax = /^\P{Cc}{1,200}$/u;

const insert = unscoped(
  'operators.insert',
  'insert into operators (operator_id, name, credential_hash) values ($1, $2, $3)',
);
const byCredential = unscoped<{ id: string; name: string }>(
  'operators.by_credential',
  'select operator_id as id, name from operators where credential_hash = $1 and revoked_at is null',
);
const revoke = unscoped(
  'operators.revoke',
  'update operators set revoked_at = now() where operator_id = $1 and revoked_at is null',
);
const list = unscoped<OperatorRecord>(
  'operators.list',
  'select operator_id, name, created_at, revoked_at from operators order by operator_id desc limit $1',
);
