/**
 * A place where the books do not agree. `wrong` must never be; `unsettled` is on its way, or waits for an operator; `not_compared` could not be looked at.
 */
export interface Fault {
  readonly state: 'wrong' | 'not_compared' | 'unsettled';
  readonly fault: string;
  readonly account_id: string | null;
  readonly test_mode: boolean | null;
  readonly id: string;
  readonly detail: string;
}

/** Looks once more at a place, and answers what is found there by then. */
export type LookAgain = () => Promise<readonly Fault[]>;

/** More are not told of one run. */
export const mostFaults = 1_000;

const states: readonly Fault['state'][] = ['wrong', 'not_compared', 'unsettled'];

interface Found {
  readonly fault: Fault;
  readonly again: LookAgain | undefined;
}

/** What a look has found: at most 1,000 faults, of which the wrong ones displace the unsettled ones. */
export class Findings {
  readonly #most: number;
  readonly #firm: Found[] = [];
  readonly #unsettled: Found[] = [];
  readonly #leftOut = new Set<Fault['state']>();

  constructor(most = mostFaults) {
    this.#most = most;
  }

  /** Adds faults of one place; a fault without `again` needs no second look. A record can have several of one name, which differ in their details. */
  add(faults: readonly Fault[], again?: LookAgain): void {
    for (const fault of faults) {
      (fault.state === 'unsettled' ? this.#unsettled : this.#firm).push({ fault, again });
      if (this.#firm.length + this.#unsettled.length > this.#most) this.#leaveOneOut();
    }
  }

  /** The wrong ones first. */
  get faults(): Fault[] {
    return this.#found.map(({ fault }) => fault).sort(inOrder);
  }

  /** Whether there were more than are kept. */
  get areMore(): boolean {
    return this.#leftOut.size > 0;
  }

  /** Whether some of them are more than unsettled. What is not kept is not looked at again, so it is not known to agree. */
  get areMoreWrong(): boolean {
    return this.#leftOut.has('wrong') || this.#leftOut.has('not_compared');
  }

  /**
   * Looks again at each place where something was found. A fault stays if it is found again; its figures may have moved since. It also stays where the second
   * look could not compare, and so does what says that a look could not.
   */
  async lookAgain(): Promise<Findings> {
    const after = new Findings(this.#most);
    for (const state of this.#leftOut) after.#leftOut.add(state);
    const notCompared = new Map<string, Fault>();
    for (const [again, first] of this.#places()) {
      const second = again === undefined || first.some(isNotCompared) ? first : await again();
      const missed = second.filter(isNotCompared);
      for (const fault of missed) notCompared.set(`${nameOf(fault)} ${fault.detail}`, fault);
      after.add(missed.length > 0 ? first.filter((fault) => !isNotCompared(fault)) : foundTwice(first, second), again);
    }
    after.add([...notCompared.values()]);
    return after;
  }

  get #found(): Found[] {
    return [...this.#firm, ...this.#unsettled];
  }

  #leaveOneOut(): void {
    const left = this.#unsettled.pop() ?? this.#firm.pop();
    if (left !== undefined) this.#leftOut.add(left.fault.state);
  }

  #places(): Map<LookAgain | undefined, Fault[]> {
    const places = new Map<LookAgain | undefined, Fault[]>();
    for (const { fault, again } of this.#found) {
      const place = places.get(again);
      if (place === undefined) places.set(again, [fault]);
      else place.push(fault);
    }
    return places;
  }
}

// Neither the detail, whose figures move while money does, nor the state, which changes while an event is on its way: the milder of the two is told.
function foundTwice(first: readonly Fault[], second: readonly Fault[]): Fault[] {
  const before = new Set(first.map(nameOf));
  const wrongBefore = new Set(first.filter(({ state }) => state === 'wrong').map(nameOf));
  return second
    .filter((fault) => before.has(nameOf(fault)))
    .map((fault) => (wrongBefore.has(nameOf(fault)) ? fault : { ...fault, state: 'unsettled' }));
}

function isNotCompared({ state }: Fault): boolean {
  return state === 'not_compared';
}

function nameOf({ fault, account_id, test_mode, id }: Fault): string {
  return [fault, account_id, test_mode, id].join(' ');
}

function inOrder(one: Fault, other: Fault): number {
  const [first, second] = [one, other].map(
    ({ state, fault, id, detail }) => `${states.indexOf(state)} ${fault} ${id} ${detail}`,
  );
  return (first ?? '') < (second ?? '') ? -1 : 1;
}

/**
 * Records and the processor's list cannot be read at one moment: while money moves, only what two looks find is a fault. `between` waits until the longest call
 * of the first look is over and recorded.
 */
export async function lookTwice(
  look: (findings: Findings) => Promise<void>,
  between: () => Promise<void>,
): Promise<Findings> {
  const first = new Findings();
  await look(first);
  if (first.faults.every(isNotCompared)) return first;
  await between();
  return first.lookAgain();
}
