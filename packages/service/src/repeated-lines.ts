/** What a logger is told of a line that may be one of many. */
export interface RepeatedLine {
  /** What makes two lines the same failure. */
  readonly key: string;
  /** Writes the line that stands for those that were left out. */
  readonly summarize: (leftOut: number) => void;
}

/**
 * Bounds the lines of a failure that repeats: in each interval the first few are written, and one line at its end has the number of the others. Without
 * this, a thousand events that cannot be published write as many lines in each round, and fill the disk.
 */
export class RepeatedLines {
  readonly #intervalMs: number;
  readonly #most: number;
  readonly #lines = new Map<string, { written: number; leftOut: number }>();

  constructor({ intervalMs = 10_000, most = 20 } = {}) {
    this.#intervalMs = intervalMs;
    this.#most = most;
  }

  /** Whether to write this line. */
  admit({ key, summarize }: RepeatedLine): boolean {
    const line = this.#lines.get(key);
    if (line !== undefined) {
      if (line.written >= this.#most) {
        line.leftOut += 1;
        return false;
      }
      line.written += 1;
      return true;
    }
    // More kinds than that at once are not one failure that repeats.
    if (this.#lines.size >= mostKinds) return true;
    const begun = { written: 1, leftOut: 0 };
    this.#lines.set(key, begun);
    setTimeout(() => {
      this.#lines.delete(key);
      if (begun.leftOut > 0) summarize(begun.leftOut);
    }, this.#intervalMs).unref();
    return true;
  }
}

const mostKinds = 1_000;
