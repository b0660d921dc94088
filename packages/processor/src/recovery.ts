/** Says to a job, once each time, that a processor responds again after its circuit breaker was open. */
export class Recovery {
  readonly #wake: () => void;
  // On the clock of performance.now().
  #at: number | undefined;

  /** `wake` has the job run at once. */
  constructor(wake: () => void) {
    this.#wake = wake;
  }

  /** For `onRecovered` of the processors. */
  note(): void {
    this.#at = performance.now();
    this.#wake();
  }

  /** Calls `act` with the time since the recovery that no run has acted on, if there is one. A run that fails leaves it to the next. */
  async act(act: (agoMs: number) => Promise<void>): Promise<void> {
    const at = this.#at;
    if (at === undefined) return;
    await act(performance.now() - at);
    if (this.#at === at) this.#at = undefined;
  }
}
