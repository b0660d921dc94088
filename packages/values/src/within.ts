/** Rejects when `work` takes longer than `ms`, with the error that `late` makes. The later outcome of the work is ignored. */
export async function within<Result>(
  ms: number,
  work: () => Promise<Result>,
  late = () => new Error(`timed out after ${ms} ms`),
): Promise<Result> {
  let timer: NodeJS.Timeout | undefined;
  const tooLate = new Promise<never>((_, reject) => {
    // What has arrived is read first: this process may have been busy for as long.
    timer = setTimeout(() => setImmediate(() => reject(late())), ms);
  });
  try {
    return await Promise.race([work(), tooLate]);
  } finally {
    clearTimeout(timer);
  }
}
