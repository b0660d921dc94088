/** Returns a function that does the work that it is given one piece after the other, in their order. A piece that fails holds up no other. */
export function oneAtATime(): <Done>(work: () => Promise<Done>) => Promise<Done> {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const done = last.then(work);
    last = done.catch(() => undefined);
    return done;
  };
}
