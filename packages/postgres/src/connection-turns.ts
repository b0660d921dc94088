import { isOwnWork } from './own-work.ts';
import { readinessAccountId, type Scope } from './scope.ts';

/** Who asks for connections: work without an account, such as the reads of readiness checks; accounts in live mode and the process' own work for accounts; or accounts in test mode. */
export type ConnectionRank = 'process' | 'live' | 'test';

/**
 * Shares the connections of a pool between accounts, each in its mode. The last fifth is for accounts that hold none. While accounts wait, those that hold less than half go first, in turn,
 * live mode first. Work without an account may take every connection, and goes first while it holds less than half; above that it yields to accounts that hold less than half. A transaction never
 * asks for a second connection, so no caller waits for itself.
 */
export class ConnectionTurns {
  readonly #most: number;
  readonly #reserve: number;
  readonly #share: number;
  readonly #waitMs: number;
  #taken = 0;
  #waiting = 0;
  // In the order of their turns.
  readonly #process = new Callers('process');
  readonly #live = new Callers('live');
  readonly #test = new Callers('test');
  readonly #ranks = [this.#process, this.#live, this.#test];

  constructor(connections: number, waitMs: number) {
    this.#most = connections;
    // None where there are fewer than five.
    this.#reserve = Math.floor(connections / 5);
    this.#share = Math.ceil(connections / 2);
    this.#waitMs = waitMs;
  }

  /** Callers that wait for a connection. */
  get waiting(): number {
    return this.#waiting;
  }

  /** How many callers of each rank waited for too long since the start. */
  refused(): [ConnectionRank, number][] {
    return this.#ranks.map(({ rank, refused }) => [rank, refused]);
  }

  /** Takes a connection: at once, or once the promise resolves with how many milliseconds are left to make one. Whoever took one calls `leave`. */
  enter(scope: Scope | null): undefined | Promise<number> {
    const callers = this.#callersOf(scope);
    const name = nameOf(scope);
    if (!callers.lines.has(name) && this.#mayTake(callers, callers.heldBy(name))) {
      this.#take(callers, name);
      return undefined;
    }
    return this.#wait(callers, name);
  }

  /** Gives a connection back, in the context in which it was taken. */
  leave(scope: Scope | null): void {
    this.#taken--;
    this.#callersOf(scope).gaveBack(nameOf(scope));
    if (this.#waiting > 0) this.#letIn();
  }

  /** Refuses all that wait. */
  close(): void {
    const waiting = this.#ranks.flatMap(({ lines }) => [...lines.values()].flat());
    for (const { refuse } of waiting) refuse();
  }

  #callersOf(scope: Scope | null): Callers {
    if (scope === null || scope.accountId === readinessAccountId) return this.#process;
    return scope.testMode && !isOwnWork() ? this.#test : this.#live;
  }

  #mayTake({ rank }: Callers, held: number, hasReserve = false): boolean {
    const free = this.#most - this.#taken;
    return free > this.#reserve || (free > 0 && (held === 0 || rank === 'process' || hasReserve));
  }

  #take(callers: Callers, name: string): void {
    this.#taken++;
    callers.took(name);
  }

  #wait(callers: Callers, name: string): Promise<number> {
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    const untilMs = performance.now() + this.#waitMs;
    const refuse = () => {
      clearTimeout(late);
      this.#waiting--;
      callers.leftLine(name, waiting);
      callers.refused++;
      reject(noConnection());
    };
    const late = setTimeout(refuse, this.#waitMs).unref();
    const begin = () => {
      clearTimeout(late);
      this.#waiting--;
      resolve(Math.max(0, untilMs - performance.now()));
    };
    const waiting: Waiting = { begin, refuse };
    callers.enterLine(name, waiting);
    this.#waiting++;
    return promise;
  }

  // Whoever waits holds connections, unless all are taken: so there are few to look at.
  #letIn(): void {
    while (this.#taken < this.#most && this.#beginOne());
  }

  #beginOne(): boolean {
    // Work without an account would also take the reserve while it waits.
    const isReserveLost = this.#process.lines.size > 0 && this.#process.held >= this.#share;
    return (
      this.#beginNext(this.#share) ||
      (isReserveLost && this.#beginNext(this.#share, true)) ||
      this.#beginNext(Number.POSITIVE_INFINITY)
    );
  }

  #beginNext(below: number, hasReserve = false): boolean {
    for (const callers of this.#ranks) {
      for (const name of callers.lines.keys()) {
        const held = callers.heldBy(name);
        if (held >= below || !this.#mayTake(callers, held, hasReserve)) continue;
        const next = callers.nextOf(name);
        this.#take(callers, name);
        next?.begin();
        return true;
      }
    }
    return false;
  }
}

/** As the pool itself says it, so that it is one refusal for whoever asks. */
export function noConnection(): Error {
  return new Error('timeout exceeded when trying to connect');
}

interface Waiting {
  readonly begin: () => void;
  readonly refuse: () => void;
}

/** The accounts of a rank: what each holds, and who waits, a line for each account in the order of their turns. */
class Callers {
  readonly rank: ConnectionRank;
  readonly lines = new Map<string, Waiting[]>();
  readonly #held = new Map<string, number>();
  /** Of all its names. */
  held = 0;
  refused = 0;

  constructor(rank: ConnectionRank) {
    this.rank = rank;
  }

  heldBy(name: string): number {
    return this.#held.get(name) ?? 0;
  }

  took(name: string): void {
    this.held++;
    this.#held.set(name, this.heldBy(name) + 1);
  }

  gaveBack(name: string): void {
    this.held--;
    const held = this.heldBy(name) - 1;
    if (held <= 0) this.#held.delete(name);
    else this.#held.set(name, held);
  }

  enterLine(name: string, waiting: Waiting): void {
    const line = this.lines.get(name);
    if (line === undefined) this.lines.set(name, [waiting]);
    else line.push(waiting);
  }

  leftLine(name: string, waiting: Waiting): void {
    const line = this.lines.get(name) ?? [];
    line.splice(line.indexOf(waiting), 1);
    if (line.length === 0) this.lines.delete(name);
  }

  /** Takes the first one of the account's line, whose next turn comes after those of the others. */
  nextOf(name: string): Waiting | undefined {
    const line = this.lines.get(name) ?? [];
    const next = line.shift();
    this.lines.delete(name);
    if (line.length > 0) this.lines.set(name, line);
    return next;
  }
}

// Of the process' own work beside the account's calls. The modes of calls are kept apart by their ranks.
function nameOf(scope: Scope | null): string {
  if (scope === null) return '';
  if (!isOwnWork()) return scope.accountId;
  return `${scope.accountId} ${scope.testMode ? 'test' : 'live'}`;
}
