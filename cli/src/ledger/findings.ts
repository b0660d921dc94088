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

/** What a look has found: at most 1,000 faults, of which the wrong ones displace the others. */
export class Findings {
  readonly #found = new Map<string, { readonly fault: Fault; readonly again: LookAgain | undefined }>();
  #leftOut = false;

  /** Adds faults of one place; a fault without `again` needs no second look. */
  add(faults: readonly Fault[], again?: LookAgain): void {
    for (const fault of faults) {
      const name = nameOf(fault);
      if (this.#found.has(name) || this.#hasRoomFor(fault)) this.#found.set(name, { fault, again });
      else this.#leftOut = true;
    }
  }

  /** The wrong ones first. */
  get faults(): Fault[] {
    return [...this.#found.values()].map(({ fault }) => fault).sort(inOrder);
  }

  /** Whether there were more than are kept. */
  get areMore(): boolean {
    return this.#leftOut;
  }

  /** Looks again at each place where something was found. A fault stays if it is found again; its figures may have moved since. */
  async lookAgain(): Promise<Findings> {
    const after = new Findings();
    after.#leftOut = this.#leftOut;
    const places = new Set([...this.#found.values()].map(({ again }) => again));
    for (const again of places) {
      const faults = again === undefined ? this.#faultsWithout() : await again();
      after.add(
        faults.filter((fault) => this.#found.has(nameOf(fault))),
        again,
      );
    }
    return after;
  }

  #faultsWithout(): Fault[] {
    return [...this.#found.values()].filter(({ again }) => again === undefined).map(({ fault }) => fault);
  }

  #hasRoomFor({ state }: Fault): boolean {
    if (this.#found.size < mostFaults) return true;
    this.#leftOut = true;
    if (state === 'unsettled') return false;
    for (const [name, { fault }] of this.#found) {
      if (fault.state !== 'unsettled') continue;
      this.#found.delete(name);
      return true;
    }
    return false;
  }
}

// Without the detail: its figures move while money does, and the fault stays.
function nameOf({ state, fault, account_id, test_mode, id }: Fault): string {
  return [state, fault, account_id, test_mode, id].join(' ');
}

function inOrder(one: Fault, other: Fault): number {
  const [first, second] = [one, other].map(({ state, fault, id }) => `${states.indexOf(state)} ${fault} ${id}`);
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
  if (first.faults.every(({ state }) => state === 'not_compared')) return first;
  await between();
  return first.lookAgain();
}
