import { DearRequests } from './dear-requests.ts';
import { LargeAnswers } from './large-answers.ts';
import { LoopLoad } from './loop-load.ts';
import { Neighbors } from './neighbors.ts';
import { Rests } from './rests.ts';
import { SharedRequests } from './shared-requests.ts';
import type { TurnCaller } from './turn-caller.ts';
import type { Leave } from './waiting-lines.ts';

/** What a request asks for. */
export interface TurnRoute {
  readonly id: string;
  readonly method: string;
}

/** The turn of one request, from its admission to its answer. */
export class Turn {
  readonly #turns: RequestTurns;
  readonly #caller: TurnCaller;
  #leave: Leave;
  /** A body of any size is dear, because of the answer that is expected. */
  readonly #isBodyDear: boolean;
  #isDear: boolean;
  #hadDearWork = false;

  constructor(turns: RequestTurns, caller: TurnCaller, begun: { leave: Leave; isDear: boolean; isBodyDear: boolean }) {
    this.#turns = turns;
    this.#caller = caller;
    this.#leave = begun.leave;
    this.#isDear = begun.isDear;
    this.#isBodyDear = begun.isBodyDear;
  }

  /** A body of this size comes. Throws where its turn would be refused: it need not be read then. */
  expectsBody(bytes: number): void {
    if (bytes > freeBytes) this.#turns.dear.assertRoom(this.#caller);
  }

  /** The body, of this size, is about to be worked on. Waits if that is dear. */
  hasBody(bytes: number): Promise<void> | undefined {
    if (bytes > freeBytes) return this.#becomeDear(bytes);
    return this.#isBodyDear ? this.#change(this.#turns.large) : undefined;
  }

  /** Does work that is dear without a body, such as a PDF, when it is the account's turn. */
  async dear<Done>(work: () => Promise<Done>): Promise<Done> {
    this.#hadDearWork = true;
    return this.#isDear ? work() : this.#turns.dear.run(this.#caller, work);
  }

  /** The request to this route has an answer of so much text. */
  answered({ id, method }: TurnRoute, length: number): void {
    const isLarge = length > (method === 'GET' ? largeRead : largeWrite);
    this.#turns.largeAnswers.note(this.#caller.accountId, id, isLarge || this.#hadDearWork);
  }

  end(): void {
    this.#leave();
    this.#leave = () => undefined;
  }

  async #becomeDear(bytes: number): Promise<void> {
    await this.#change(this.#turns.dear);
    // It was read before its turn.
    this.#turns.dear.hadWork(this.#caller, bytes / readBytesPerMs);
  }

  async #change(to: Pick<DearRequests, 'enter'>): Promise<void> {
    this.end();
    this.#leave = await to.enter(this.#caller);
    this.#isDear = true;
  }
}

/**
 * The turns of an account's requests in this process. While several accounts are short of time, each has a few requests at work, and one dear one: with a large
 * body, as a PDF, or whose last answer on that route was large.
 */
export class RequestTurns {
  readonly neighbors: Neighbors;
  readonly dear: DearRequests;
  /** Requests that are dear only because a large answer is expected. They take little memory while they wait, so the line is long. */
  readonly large: SharedRequests;
  /** The parts of files that are stored and read. */
  readonly parts: DearRequests;
  readonly #small: SharedRequests;
  readonly largeAnswers = new LargeAnswers();

  constructor(neighbors: Neighbors = neighborsHere()) {
    this.neighbors = neighbors;
    const rests = new Rests(neighbors);
    this.dear = new DearRequests(neighbors, {}, rests);
    this.large = new SharedRequests(neighbors, { ofAccount: 1, ofYielding: 1 }, rests);
    this.parts = new DearRequests(neighbors, { longestWaitMs: longestPartWaitMs }, rests);
    this.#small = new SharedRequests(neighbors);
  }

  /** Waits for the turn of a request to this route: at once when no other account is short of time. */
  begin(caller: TurnCaller, route: TurnRoute): Turn | Promise<Turn> {
    const { accountId } = caller;
    this.neighbors.saw(caller);
    const isLarge = this.largeAnswers.isExpected(accountId, route.id) && this.neighbors.areShort(accountId);
    // A client that is slow to send a body has no dear turn meanwhile.
    const isDear = isLarge && route.method === 'GET';
    const isBodyDear = isLarge && !isDear;
    const entered = (isDear ? this.large : this.#small).enter(caller);
    if (!(entered instanceof Promise)) return new Turn(this, caller, { leave: entered, isDear, isBodyDear });
    return entered.then((leave) => new Turn(this, caller, { leave, isDear, isBodyDear }));
  }
}

/** The neighbors of this process. */
export function neighborsHere(): Neighbors {
  const load = new LoopLoad();
  return new Neighbors({ isBusy: () => load.isBusy() });
}

// A hundred lines by price are 6 kB.
const freeBytes = 8_192;
const readBytesPerMs = 200_000;
// A page of ten records is 10 to 15 kB.
const largeRead = 16_384;
// A session of sixty lines. Confirms of ordinary carts stay small.
const largeWrite = 65_536;
/** A file that is half transferred is not given up for a few seconds. */
const longestPartWaitMs = 20_000;
