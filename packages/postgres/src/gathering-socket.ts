import { Socket } from 'node:net';
import { freeBytes } from '@eligo/values';

/** Messages of this size carry a part of a file, or a large write. */
const largeBytes = 65_536;

/**
 * A socket that sends what is written in one turn at once. The driver flushes after each statement; BEGIN and those that a transaction sends without
 * waiting for each other leave in one system call this way, which is what a statement costs most here.
 */
export class GatheringSocket extends Socket {
  #gathering = false;

  // Node puts a write of its own before that of a subclass.
  override connect(...given: unknown[]): this {
    Reflect.apply(super.connect, this, given);
    Reflect.deleteProperty(this, 'write');
    return this;
  }

  // The driver's own bracket around a prepared statement: the first of a turn is held open until its end.
  override cork(): void {
    super.cork();
    this.#gather();
  }

  // Other messages of the driver have no bracket.
  override write(...given: unknown[]): boolean {
    this.#gather();
    const [message] = given;
    // The driver makes a new buffer for each message and does not keep it.
    if (given.length === 1 && message instanceof Uint8Array && message.byteLength >= largeBytes) {
      return super.write(message, () => freeBytes(message));
    }
    return Reflect.apply(super.write, this, given);
  }

  #gather(): void {
    if (this.#gathering) return;
    this.#gathering = true;
    super.cork();
    process.nextTick(() => {
      this.#gathering = false;
      super.uncork();
    });
  }
}
