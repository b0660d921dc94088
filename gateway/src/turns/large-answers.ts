/** The routes on which an account was last given a large answer: the next one is likely to be as large, and as much work. */
export class LargeAnswers {
  readonly #routes = new Map<string, Set<string>>();

  isExpected(accountId: string, routeId: string): boolean {
    return this.#routes.get(accountId)?.has(routeId) === true;
  }

  note(accountId: string, routeId: string, isLarge: boolean): void {
    const own = this.#routes.get(accountId);
    if (isLarge) {
      if (own !== undefined) own.add(routeId);
      else this.#routes.set(accountId, new Set([routeId]));
      const [oldest] = this.#routes.keys();
      if (oldest !== undefined && this.#routes.size > mostAccounts) this.#routes.delete(oldest);
    } else if (own?.delete(routeId) === true && own.size === 0) this.#routes.delete(accountId);
  }
}

/** Some hundred bytes each. */
const mostAccounts = 10_000;
