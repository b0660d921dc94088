import pg from 'pg';

/** What an operation sent to Postgres. */
export interface Sent {
  readonly statements: number;
  readonly transactions: number;
}

type Send = (this: pg.Client, ...given: unknown[]) => unknown;

/**
 * Counts what the service's own role sends while `work` runs. Without the notifications of the relay: those of one moment share a statement, so how many there are depends on how
 * long the work takes.
 */
export async function sentBy(work: () => Promise<unknown>): Promise<Sent> {
  const texts: string[] = [];
  const prototype = pg.Client.prototype as unknown as { query: Send };
  const send = prototype.query;
  prototype.query = function query(...given) {
    const [first] = given;
    const text = typeof first === 'string' ? first : (first as { text: string }).text;
    if (this.user?.startsWith('eligo_checkout') === true && !text.startsWith('select pg_notify(')) texts.push(text);
    return send.apply(this, given);
  };
  try {
    await work();
  } finally {
    prototype.query = send;
  }
  return { statements: texts.length, transactions: texts.filter((text) => text === 'commit').length };
}
