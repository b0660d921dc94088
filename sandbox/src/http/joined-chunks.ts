/** The chunks of a body, joined by the thousand: each chunk that Node hands on takes 250 to 500 bytes of memory beside its content. */
export class JoinedChunks {
  readonly #joined: Buffer[] = [];
  #chunks: Buffer[] = [];

  add(chunk: Buffer): void {
    this.#chunks.push(chunk);
    if (this.#chunks.length === mostChunks) this.#join();
  }

  /** Buffers that are held. */
  get buffers(): number {
    return this.#joined.length + this.#chunks.length;
  }

  whole(): Buffer {
    this.#join();
    const [first] = this.#joined;
    return first !== undefined && this.#joined.length === 1 ? first : Buffer.concat(this.#joined);
  }

  #join(): void {
    const [first] = this.#chunks;
    if (first !== undefined) this.#joined.push(this.#chunks.length === 1 ? first : Buffer.concat(this.#chunks));
    this.#chunks = [];
  }
}

const mostChunks = 1_024;
