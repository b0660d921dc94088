import {
  enterPresent,
  type Leave,
  type MeteredWork,
  type ProcessTurns,
  processTurns,
  SharedRequests,
  type TurnCaller,
} from '@eligo/service';
import { ExpensiveRequests } from './expensive-requests.ts';
import { LargeAnswers } from './large-answers.ts';

/** What a request asks for. */
export interface TurnRoute {
  readonly id: string;
  readonly method: string;
  readonly path: string;
}

/** The turn of one request, from its admission to its answer. */
export class Turn {
  readonly #turns: RequestTurns;
  readonly #work: MeteredWork;
  #leave: Leave;
  /** A body of any size is expensive, because of the answer that is expected. */
  readonly #isBodyExpensive: boolean;
  #hasExpensiveTurn: boolean;
  #hadExpensiveWork = false;
  #isPresent = true;
  #hasEnded = false;

  constructor(
    turns: RequestTurns,
    work: MeteredWork,
    begun: { leave: Leave; hasExpensiveTurn: boolean; isBodyExpensive: boolean },
  ) {
    this.#turns = turns;
    this.#work = work;
    this.#leave = begun.leave;
    this.#hasExpensiveTurn = begun.hasExpensiveTurn;
    this.#isBodyExpensive = begun.isBodyExpensive;
  }

  get #caller(): TurnCaller {
    return this.#work.caller;
  }

  /** Does the request's work, whose time is measured. */
  run<Done>(work: () => Promise<Done>): Promise<Done> {
    return this.#turns.here.meter.run(this.#work, work);
  }

  /** A body of this size comes. Throws where its turn would be refused: it need not be read then. */
  expectsBody(bytes: number): void {
    if (bytes > smallBytes) this.#turns.expensive.assertRoom(this.#caller);
    this.awaitsClient();
  }

  /** Called before the client sends a body or reads a stream. Its account does not count as waiting meanwhile: a slow client must not hold other accounts to their shares. */
  awaitsClient(): void {
    if (this.#isPresent) this.#turns.neighbors.left(this.#caller);
    this.#isPresent = false;
  }

  /** Called when the client has sent or read. The account counts as waiting again. */
  resumes(): void {
    if (this.#isPresent || this.#hasEnded) return;
    this.#turns.neighbors.arrived(this.#caller);
    this.#isPresent = true;
  }

  /** The body, of this size, is about to be worked on. Waits if that is expensive. */
  hasBody(bytes: number): Promise<void> | undefined {
    this.resumes();
    if (bytes > smallBytes) return this.#becomeExpensive(bytes);
    return this.#isBodyExpensive ? this.#change(this.#turns.large) : undefined;
  }

  /** Does work that is expensive without a body, such as a PDF, when it is the account's turn. */
  async runExpensive<Done>(work: () => Promise<Done>): Promise<Done> {
    this.#hadExpensiveWork = true;
    this.#work.isExpensive = true;
    return this.#hasExpensiveTurn ? work() : this.#turns.expensive.run(this.#caller, work);
  }

  /** The request to this route has an answer of so much text. */
  answered({ id, method }: TurnRoute, length: number): void {
    const isLarge = length > (method === 'GET' ? largeRead : largeWrite);
    this.#turns.largeAnswers.note(this.#caller.accountId, id, isLarge || this.#hadExpensiveWork);
  }

  end(): void {
    this.#leaveLine();
    this.awaitsClient();
    this.#hasEnded = true;
  }

  #leaveLine(): void {
    this.#leave();
    this.#leave = () => undefined;
  }

  async #becomeExpensive(bytes: number): Promise<void> {
    // It was read before its turn, outside of any promise.
    this.#turns.here.budgets.charge(this.#caller, bytes / readBytesPerMs);
    await this.#change(this.#turns.expensive);
  }

  async #change(to: Pick<ExpensiveRequests, 'enter'>): Promise<void> {
    this.#leaveLine();
    this.#work.isExpensive = true;
    this.#leave = await to.enter(this.#caller);
    this.#hasExpensiveTurn = true;
  }
}

/**
 * The turns of an account's requests in this process. While several accounts are short of time, each has a few requests at work, and one expensive one: with a large
 * body, as a PDF, or whose last answer on that route was large. What is expensive, lists, files and reports, and all that an account asks for which yields, begins only
 * while the account's budget is not used up.
 */
export class RequestTurns {
  readonly here: ProcessTurns;
  readonly expensive: ExpensiveRequests;
  /** Requests that are expensive only because a large answer is expected. They take little memory while they wait, so the line is long. */
  readonly large: SharedRequests;
  /** The parts of files that are stored and read. */
  readonly parts: ExpensiveRequests;
  readonly #small: SharedRequests;
  /** Requests of any size that count towards the budget. */
  readonly #counted: SharedRequests;
  /** Requests of shoppers' pages. */
  readonly #pages: SharedRequests;
  /** Their PDFs. */
  readonly #expensivePages: ExpensiveRequests;
  readonly largeAnswers = new LargeAnswers();

  constructor(here: ProcessTurns = processTurns()) {
    const { neighbors, budgets } = here;
    this.here = here;
    this.expensive = new ExpensiveRequests(neighbors, {}, budgets);
    const isSpent = (caller: TurnCaller) => budgets.isSpent(caller);
    this.large = new SharedRequests(neighbors, { ofAccount: 1, ofYielding: 1 }, isSpent);
    this.parts = new ExpensiveRequests(neighbors, { longestWaitMs: longestPartWaitMs }, budgets);
    this.#small = new SharedRequests(neighbors, {}, (caller) => budgets.isOver(caller));
    this.#counted = new SharedRequests(neighbors, {}, isSpent);
    this.#expensivePages = new ExpensiveRequests(neighbors, {}, budgets);
    this.#pages = new SharedRequests(neighbors, { longestWaitMs: longestPageWaitMs }, (caller) =>
      neighbors.yields(caller) ? isSpent(caller) : budgets.isOver(caller),
    );
  }

  get neighbors() {
    return this.here.neighbors;
  }

  /** Waits for the turn of a request to this route: at once when no other account is short of time. */
  begin(caller: TurnCaller, route: TurnRoute): Turn | Promise<Turn> {
    const { accountId } = caller;
    const isLarge = this.largeAnswers.isExpected(accountId, route.id) && this.neighbors.areShort(accountId);
    // A client that is slow to send a body has no expensive turn meanwhile.
    const hasExpensiveTurn = isLarge && route.method === 'GET';
    const isBodyExpensive = isLarge && !hasExpensiveTurn;
    const isExpensive = hasExpensiveTurn || readsMuch(route) || this.neighbors.yields(caller);
    const line = hasExpensiveTurn ? this.large : isExpensive ? this.#counted : this.#small;
    const work: MeteredWork = { caller, isExpensive, wholeFor: 'budgets' };
    const begun = (leave: Leave) => new Turn(this, work, { leave, hasExpensiveTurn, isBodyExpensive });
    const entered = enterPresent(this.neighbors, caller, line);
    return entered instanceof Promise ? entered.then(begun) : begun(entered);
  }

  /**
   * Does the work of a request of a page when it is the turn of the account's pages. They have turns and budgets of their own, so that visitors and the account's keys do not wait for
   * each other: an account can have as many visitors, from as many addresses, as it likes.
   */
  async onPage<Done>(subject: TurnCaller, work: () => Promise<Done>): Promise<Done> {
    const caller = pagesOf(subject);
    const entered = enterPresent(this.neighbors, caller, this.#pages);
    const leave = entered instanceof Promise ? await entered : entered;
    const isExpensive = this.neighbors.yields(caller);
    try {
      return await this.here.meter.run({ caller, isExpensive, wholeFor: 'budgets' }, work);
    } finally {
      leave();
      this.neighbors.left(caller);
    }
  }

  /** Does expensive work of a page, such as a PDF, when it is the turn of the account's pages for it. */
  async expensiveOnPage<Done>(subject: TurnCaller, work: () => Promise<Done>): Promise<Done> {
    const caller = pagesOf(subject);
    const measured = () => this.here.meter.run({ caller, isExpensive: true, wholeFor: 'budgets' }, work);
    return this.neighbors.during(caller, () => this.#expensivePages.run(caller, measured));
  }
}

function pagesOf({ accountId, testMode }: TurnCaller): TurnCaller {
  return { accountId, testMode, perSecond: pagesPerSecond, of: 'pages' };
}

/** The share of pages is that of a key with the default limit of live mode. */
const pagesPerSecond = 100;
/** Of the nine seconds that a payment may take, the queue for a card and the processor need seven. */
const longestPageWaitMs = 2_000;

// Every read but that of one record by its id: lists, documents, contents of files, reports.
function readsMuch({ method, path }: TurnRoute): boolean {
  return method === 'GET' && !path.endsWith('}');
}

// A hundred lines by price are 6 kB.
const smallBytes = 8_192;
const readBytesPerMs = 200_000;
// A page of ten records is 10 to 15 kB.
const largeRead = 16_384;
// A session of sixty lines. Confirms of ordinary carts stay small.
const largeWrite = 65_536;
/** A file that is half transferred is not given up for a few seconds. */
const longestPartWaitMs = 20_000;
