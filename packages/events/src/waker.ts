/** Waits for a time or until woken, whichever comes first. A wake without a waiter ends the next wait at once. */
export class Waker {
  #woken = false;
  #end: (() => void) | undefined;

  wake(): void {
    this.#woken = true;
    this.#end?.();
  }

  /** Clears a pending wake, because the caller is about to look anyway. */
  reset(): void {
    this.#woken = false;
  }

  async wait(ms: number): Promise<void> {
    if (!this.#woken) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, ms);
        this.#end = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    this.#end = undefined;
    this.#woken = false;
  }
}
