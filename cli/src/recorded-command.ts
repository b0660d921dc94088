import { AsyncLocalStorage } from 'node:async_hooks';
import { userInfo } from 'node:os';
import type { Database } from '@eligo/postgres';
import { allowsMethod, type Login, loginVerifier, newRequestId, publicKeyOf } from '@eligo/rpc';
import { recordOperatorAction } from '@eligo/service';
import { idKindOf, isId } from '@eligo/values';
import { type Command, type Given, UsageError } from './command.ts';
import { givenLogin } from './given-login.ts';
import { operatorKey } from './operator-key.ts';

interface RunningCommand {
  readonly command: Command;
  readonly given: Given;
  readonly requestId: string;
  /** The schemas that have its row by now. */
  readonly recordedIn: Set<string>;
}

const running = new AsyncLocalStorage<RunningCommand>();

/** Runs a command so that each schema in which it changes something, or reads records of accounts to show them, has a row of it first. */
export function runRecorded<Value>(command: Command, given: Given, work: () => Promise<Value>): Promise<Value> {
  return running.run({ command, given, requestId: newRequestId(), recordedIn: new Set() }, work);
}

/**
 * Keeps the running command in the audit log of a schema, once, before it changes or shows anything there: the operator or the machine's user, the
 * command, and the identifiers that it was given. Other options may have names or secrets in them. Throws when it cannot be recorded, and when the login
 * does not allow the command: that is recorded of any command.
 */
export async function recordCommandIn(schema: string, database: Database): Promise<void> {
  const current = running.getStore();
  if (current === undefined || current.recordedIn.has(schema)) return;
  const { command, given, requestId } = current;
  if (command.logsIn) return;
  const writes = !command.readsOnly || (command.writesWith !== undefined && given.flag(command.writesWith));
  const login = currentLogin();
  const refused = login !== undefined && !allowsMethod(login, command.name, !writes);
  if (!writes && !command.showsAccounts && !refused) return;
  const accountId = [given.text('account'), ...given.words].find((text) => text && isId('account', text));
  const mode = given.text('mode');
  await recordOperatorAction(database, {
    operator: login?.operator ?? { name: machineUser() },
    loginId: login?.loginId,
    action: command.name,
    scope:
      accountId === undefined ? undefined : { accountId, testMode: mode === undefined ? undefined : mode === 'test' },
    subjectId: [...given.words, given.text('event')].find((text) => text && idKindOf(text) !== undefined),
    requestId,
    refused,
  });
  if (refused) {
    const needed = writes ? `"${command.name}"` : 'reads';
    throw new UsageError(`Your login does not allow this command; log in with --allow ${needed}`);
  }
  current.recordedIn.add(schema);
}

/** Who runs the command: the operator of its login, or the machine's user. */
export function operatorName(): string {
  return currentLogin()?.operator.name ?? machineUser();
}

/** Who acts without a login: the user of the machine, who has the database's password anyway. */
export function machineUser(): string {
  try {
    return `user ${userInfo().username}`;
  } catch {
    // A container's user need not have a name.
    return `user ${process.getuid?.() ?? 'unknown'}`;
  }
}

function currentLogin(): Login | undefined {
  const given = givenLogin();
  if (given === undefined) return undefined;
  const login = loginVerifier(publicKeyOf(operatorKey())).verify(given.token);
  if ('problem' in login) {
    const problem =
      login.problem === 'expired' ? 'has expired' : 'is not of this installation, or an earlier release signed it';
    throw new UsageError(`ELIGO_OPERATOR_TOKEN ${problem}; run operator login again`);
  }
  if (login.proofKey === publicKeyOf(given.proofKey)) return login;
  throw new UsageError('ELIGO_OPERATOR_PROOF_KEY is the key of another login; run operator login again, and set both');
}
