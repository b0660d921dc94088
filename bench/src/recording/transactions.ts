import type { SentStatement } from './record-statements.ts';

/** A statement of a transaction that is replayed. */
export interface ReplayedStatement {
  readonly name: string | undefined;
  readonly text: string;
  readonly values: readonly unknown[];
  readonly together: boolean;
}

/** A transaction as it was sent, from BEGIN to COMMIT. */
export interface Transaction {
  readonly role: string;
  readonly statements: readonly ReplayedStatement[];
}

/**
 * The transactions that an operation must make durable: those of these roles that were committed, write, and work within an account. What the
 * relay and the other background work do for all accounts at once is no operation's own.
 */
export function durableTransactions(sent: readonly SentStatement[], roles: readonly string[]): Transaction[] {
  const open = new Map<number, SentStatement[]>();
  const found: Transaction[] = [];
  for (const statement of sent) {
    const { connection, role, text } = statement;
    if (text.startsWith('begin')) open.set(connection, []);
    const statements = open.get(connection);
    if (statements === undefined) continue;
    statements.push(statement);
    if (text === 'rollback') open.delete(connection);
    if (text !== 'commit') continue;
    open.delete(connection);
    if (roles.includes(role) && isScoped(statements) && statements.some(writes)) found.push({ role, statements });
  }
  return found;
}

/** How many statements and transactions these are, and how often their sender waits: statements that are sent together share a round trip. */
export function readRoundTrips(transactions: readonly Transaction[]) {
  const statements = transactions.flatMap((transaction) => transaction.statements);
  return {
    statements: statements.length,
    transactions: transactions.length,
    roundTrips: statements.filter(({ together }) => !together).length,
  };
}

function isScoped([begin]: readonly SentStatement[]): boolean {
  return begin?.text.includes('eligo.account_id') ?? false;
}

function writes({ text }: SentStatement): boolean {
  return /\b(insert into|update|delete from)\b/i.test(text);
}
