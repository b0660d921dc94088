// Loaded before the stack's own code (`--import`): writes down every statement that goes to Postgres, with its values, as it was sent.
import { appendFileSync } from 'node:fs';
import { serialize } from 'node:v8';
import pg from 'pg';

/** One statement as a component sent it. */
export interface SentStatement {
  /** The connection that it went over. */
  readonly connection: number;
  readonly role: string;
  readonly name: string | undefined;
  readonly text: string;
  readonly values: readonly unknown[];
  /** Sent while the one before it on this connection was not answered yet. */
  readonly together: boolean;
}

const path = process.env.ELIGO_BENCH_STATEMENTS;
if (path !== undefined) record(path);

interface Query {
  readonly name?: string;
  readonly text: string;
  readonly values?: readonly unknown[];
}

type Send = (this: pg.Client, ...given: unknown[]) => unknown;

function record(file: string): void {
  const connections = new WeakMap<pg.Client, { readonly id: number; unanswered: number }>();
  let opened = 0;
  const prototype = pg.Client.prototype as unknown as { query: Send };
  const send = prototype.query;
  prototype.query = function query(...given) {
    const connection = connections.get(this) ?? { id: ++opened, unanswered: 0 };
    connections.set(this, connection);
    const [first, second] = given;
    const sent: Query = typeof first === 'string' ? { text: first } : (first as Query);
    const statement: SentStatement = {
      connection: connection.id,
      role: this.user ?? '',
      name: sent.name,
      text: sent.text,
      values: sent.values ?? (Array.isArray(second) ? second : []),
      together: connection.unanswered > 0,
    };
    appendFileSync(file, `${serialize(statement).toString('base64')}\n`);
    const answered = send.apply(this, given);
    if (answered instanceof Promise) {
      connection.unanswered += 1;
      const settle = () => {
        connection.unanswered -= 1;
      };
      answered.then(settle, settle);
    }
    return answered;
  };
}
