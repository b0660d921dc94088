import { Agent, request } from 'node:http';

/** What became of an attacker's requests. */
export interface AttackReport {
  readonly answered: number;
  /** By the limits: 429 and 503. */
  readonly refused: number;
}

/** A request whose bytes are made before the measurement, which is not to measure their making. */
export interface Prepared {
  readonly method: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Buffer;
}

/** Sends requests until it is told to stop. Answers are not awaited before the next request: whoever attacks does not wait. */
export async function flood(
  signal: AbortSignal,
  perSecond: number,
  one: (count: number) => Promise<unknown>,
): Promise<AttackReport> {
  const running = new Set<Promise<unknown>>();
  let [answered, refused] = [0, 0];
  for (let count = 0; !signal.aborted; count++) {
    // A refused or cut request is what the limits are for.
    const sent: Promise<unknown> = one(count)
      .then(
        (status) => (status === 429 || status === 503 ? refused++ : answered++),
        () => refused++,
      )
      .then(() => running.delete(sent));
    running.add(sent);
    await new Promise((resolve) => setTimeout(resolve, 1_000 / perSecond));
  }
  await Promise.all(running);
  return { answered, refused };
}

/** Sends a request by `node:http`, without looking at the answer: `fetch` costs as much as the work of most requests. `from` is an address of this machine. */
export function sendPrepared(
  url: string,
  { method, path, headers, body }: Prepared,
  from?: string,
): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const length = body === undefined ? {} : { 'content-length': body.length };
    const sent = request(url + path, {
      ...{ method, agent },
      ...(from === undefined ? {} : { localAddress: from }),
      headers: { ...length, ...headers },
    });
    sent.once('error', reject);
    sent.once('response', (answer) => {
      answer.once('error', reject);
      answer.once('end', () => resolve(answer.statusCode)).resume();
    });
    sent.end(body);
  });
}

const agent = new Agent({ keepAlive: true });
