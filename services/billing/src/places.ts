/** A fixed number of places. Work takes places and gives them back. */
export interface Places {
  /**
   * Runs the work once `count` places are free, in the order of asking. One that wants more than there are waits until all are free. The work may give back one place
   * after the other with `done`; what it still has at its end is given back then.
   */
  use<Result>(count: number, work: (done: () => void) => Promise<Result>): Promise<Result>;
}

/** Opens places that are all free. */
export function openPlaces(most: number): Places {
  return openChangingPlaces(most).places;
}

/** How many places there are, by how long the measured part of their work takes. */
export interface PlaceLimits {
  readonly least: number;
  readonly most: number;
  readonly fastMs: number;
}

/** Places whose number follows how long a part of their work takes. */
export interface AdaptivePlaces extends Places {
  /** Runs the part that is measured. Work that does without it changes nothing. */
  measure<Result>(part: () => Promise<Result>): Promise<Result>;
}

/**
 * Opens the least number of places. A measured part that ends within `fastMs` opens one more, up to the most; a slower one closes half of them, down to the least. So work
 * that waits for a slow server, or for a machine that has other things to do, gets few places. Parts that began before the last halving change nothing: it was for all of them.
 */
export function openAdaptivePlaces(limits: PlaceLimits, nowMs = () => performance.now()): AdaptivePlaces {
  const { least, most, fastMs } = limits;
  const { places, change } = openChangingPlaces(least);
  let open = least;
  let halvedAtMs = Number.NEGATIVE_INFINITY;

  function openNow(now: number): void {
    change(now - open);
    open = now;
  }

  return {
    use: places.use,
    async measure(part) {
      const begunAtMs = nowMs();
      try {
        return await part();
      } finally {
        const endedAtMs = nowMs();
        const isFast = endedAtMs - begunAtMs <= fastMs;
        if (begunAtMs >= halvedAtMs) {
          if (!isFast) halvedAtMs = endedAtMs;
          openNow(isFast ? Math.min(most, open + 1) : Math.max(least, Math.floor(open / 2)));
        }
      }
    },
  };
}

function openChangingPlaces(first: number): { readonly places: Places; readonly change: (by: number) => void } {
  let most = first;
  let free = most;
  const waiting: { readonly count: number; readonly begin: () => void }[] = [];

  function beginNext(): void {
    for (let next = waiting[0]; next !== undefined && next.count <= free; next = waiting[0]) {
      waiting.shift();
      free -= next.count;
      next.begin();
    }
  }

  const places: Places = {
    async use(count, work) {
      let taken = Math.min(count, most);
      const giveBack = (places: number) => {
        taken -= places;
        free += places;
        beginNext();
      };
      await new Promise<void>((begin) => {
        waiting.push({ count: taken, begin });
        beginNext();
      });
      try {
        return await work(() => giveBack(Math.min(1, taken)));
      } finally {
        giveBack(taken);
      }
    },
  };
  return {
    places,
    // What is taken stays taken: with fewer places nothing begins until as many are given back.
    change(by) {
      most += by;
      free += by;
      beginNext();
    },
  };
}
