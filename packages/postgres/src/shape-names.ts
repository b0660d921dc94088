import { wireName } from './statement.ts';

// A connection keeps the plan of each name for as long as it lives, so their number has a bound.
const MAX_NAMED_SHAPES = 200;

/** Decides which built queries are prepared: a shape that comes a second time, while there is room. */
export class ShapeNames {
  readonly #names = new Map<string, string | undefined>();

  nameOf(sql: string): string | undefined {
    const known = this.#names.get(sql);
    if (known !== undefined) return known;
    if (this.#names.has(sql)) {
      const name = wireName('built', sql);
      this.#names.set(sql, name);
      return name;
    }
    if (this.#names.size < MAX_NAMED_SHAPES) this.#names.set(sql, undefined);
    return undefined;
  }
}
