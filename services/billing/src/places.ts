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
}
