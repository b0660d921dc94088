import type { Session } from '@eligo/postgres';
import { within } from '@eligo/values';

/** Proves that this process's relay leads; throws `LeadershipLost` if it perhaps leads no more. */
export interface Leads {
  /** Asks the server. */
  now(): Promise<void>;
  /** Asks the server, unless it has answered within the last two seconds. */
  lately(): Promise<void>;
}

/**
 * The leadership of a relay: an advisory lock, which lasts as long as its session at the server. After a failover the new server gives the lock to
 * another relay, and a connection that fell silent does not say so. So the relay asks on its session. Without an answer in time the leadership is over.
 */
export class Leadership implements Leads {
  readonly #session: Session;
  #provenAt: number;
  #isOver = false;

  private constructor(session: Session, provenAt: number) {
    this.#session = session;
    this.#provenAt = provenAt;
    void session.closed.then(() => {
      this.#isOver = true;
    });
  }

  /** The leadership, if the lock is free. */
  static async take(session: Session): Promise<Leadership | undefined> {
    const askedAt = performance.now();
    const [row] = await session.query<{ won: boolean }>(
      "select pg_try_advisory_lock(hashtextextended('eligo.relay.' || current_schema(), 0)) as won",
    );
    return row?.won === true ? new Leadership(session, askedAt) : undefined;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  async now(): Promise<void> {
    if (this.#isOver) throw new LeadershipLost();
    const askedAt = performance.now();
    if (await answersInTime(this.#session)) this.#provenAt = askedAt;
    else this.#isOver = true;
    if (this.#isOver) throw new LeadershipLost();
  }

  async lately(): Promise<void> {
    if (this.#isOver || performance.now() - this.#provenAt > PROOF_MS) await this.now();
  }
}

/** The session that holds the relay's lock does not answer. */
export class LeadershipLost extends Error {
  override readonly name = 'LeadershipLost';
}

/** How old a proof may be: under load one tiny statement every two seconds. */
const PROOF_MS = 2_000;
/** A server under load answers within some hundred milliseconds; a mistake costs the relay a new session. */
const ANSWER_MS = 2_000;

function answersInTime(session: Session): Promise<boolean> {
  return within(ANSWER_MS, () => session.query('select 1')).then(
    () => true,
    () => false,
  );
}
