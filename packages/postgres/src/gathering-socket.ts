import { Socket } from 'node:net';

/**
 * A socket that sends what is written in one turn at once. The driver flushes after each statement; those that a transaction sends without waiting
 * for each other leave in one system call this way, which is what a statement costs most here.
 */
export class GatheringSocket extends Socket {
  #gathering = false;

  // The driver's own bracket around each statement: the first of a turn is held open until its end.
  override cork(): void {
    super.cork();
    if (this.#gathering) return;
    this.#gathering = true;
    super.cork();
    process.nextTick(() => {
      this.#gathering = false;
      super.uncork();
    });
  }
}
