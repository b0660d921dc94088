/** Does something so long from now, and again so long after each end. Returns a function that ends it. */
export function repeat(everyMs: number, work: () => Promise<void>, onBug: (error: unknown) => void): () => void {
  let isOver = false;
  let timer = setTimeout(run, everyMs).unref();

  async function run(): Promise<void> {
    try {
      await work();
    } catch (error) {
      // The store is closed while the sandbox stops.
      if (!isOver) onBug(error);
    }
    if (!isOver) timer = setTimeout(run, everyMs).unref();
  }

  return () => {
    isOver = true;
    clearTimeout(timer);
  };
}
