/** So many places, which work takes and gives back. */
export interface Places {
  /** Runs the work once `count` places are free, in the order of asking. One that wants more than there are waits until all are free. */
  use<Result>(count: number, work: () => Promise<Result>): Promise<Result>;
}

/** Opens places that are all free. */
export function openPlaces(most: number): Places {
  let free = most;
  const waiting: { readonly count: number; readonly begin: () => void }[] = [];

  function beginNext(): void {
    for (let next = waiting[0]; next !== undefined && next.count <= free; next = waiting[0]) {
      waiting.shift();
      free -= next.count;
      next.begin();
    }
  }

  return {
    async use(count, work) {
      const taken = Math.min(count, most);
      await new Promise<void>((begin) => {
        waiting.push({ count: taken, begin });
        beginNext();
      });
      try {
        return await work();
      } finally {
        free += taken;
        beginNext();
      }
    },
  };
}
