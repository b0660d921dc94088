import { type Clock, systemClock } from '@eligo/values';

// A clock that is set by hand or by NTP jumps by more than this between two readings; one that is slewed does not.
const smallestJumpMs = 1_000;

/**
 * The wall clock by which tokens expire. It notices when the wall clock is set, because the time that has elapsed since the process started does not jump with
 * it: tokens that were signed before the jump stay valid for as long as they would have been without it.
 */
export class TokenClock {
  readonly #clock: Clock;
  readonly #elapsedMs: () => number;
  readonly #graceMs: number;
  // The wall clock's time when nothing had elapsed; and the one of before the last jump, with the end of its grace.
  #originMs: number;
  #formerOriginMs = 0;
  #formerUntilMs = Number.NEGATIVE_INFINITY;
  #jumps = 0;

  /** `graceMs`: how long a token lives at most. */
  constructor(graceMs: number, clock: Clock = systemClock, elapsedMs: () => number = () => performance.now()) {
    this.#graceMs = graceMs;
    this.#clock = clock;
    this.#elapsedMs = elapsedMs;
    this.#originMs = this.#wallMs() - elapsedMs();
  }

  /** The wall clock's time; all other readings are as of the last one. */
  read(): number {
    const wallMs = this.#wallMs();
    const elapsedMs = this.#elapsedMs();
    const originMs = wallMs - elapsedMs;
    if (Math.abs(originMs - this.#originMs) > smallestJumpMs) {
      this.#formerOriginMs = this.#originMs;
      this.#formerUntilMs = elapsedMs + this.#graceMs;
      this.#jumps += 1;
    }
    this.#originMs = originMs;
    return wallMs;
  }

  /** How often the clock has jumped: what was signed before a jump is signed anew. */
  get jumps(): number {
    return this.#jumps;
  }

  /** Never jumps; what expires by it stays for as long as it was meant to. */
  elapsedMs(): number {
    return this.#elapsedMs();
  }

  /** How long a token that expires then is still valid; at most 0 when it has expired, or expires later than any that is signed. */
  remainingMs(expiresAtMs: number, longestMs: number): number {
    const byWall = validFor(expiresAtMs - this.read(), longestMs);
    const elapsedMs = this.#elapsedMs();
    if (byWall > 0 || elapsedMs >= this.#formerUntilMs) return byWall;
    return validFor(expiresAtMs - this.#formerOriginMs - elapsedMs, longestMs);
  }

  #wallMs(): number {
    return this.#clock === systemClock ? Date.now() : this.#clock.now().getTime();
  }
}

function validFor(remainingMs: number, longestMs: number): number {
  return remainingMs <= longestMs ? remainingMs : 0;
}
