import type { Supervised } from './children/supervise.ts';

/** One part of a running stack. */
export interface StackProcess {
  readonly name: string;
  readonly pid: number;
  /** Where its health, metrics and Connect/JSON calls are; null for Postgres and NATS. */
  readonly admin: string | null;
}

/** Parts that stop side by side: the gateways before the services, and both before all else. */
export type Stage = 'gateways' | 'services';

interface Part {
  readonly name: string;
  readonly stage?: Stage | undefined;
  readonly admin: string | null;
  readonly pid: () => number;
  readonly leave: () => Promise<void>;
  readonly stop: () => Promise<void>;
  readonly kill: (signal: NodeJS.Signals) => void;
}

/** A part of this process: it becomes not ready and serves on for the drain delay, then it stops. */
export interface PartHere {
  leave(): Promise<void>;
  stop(): Promise<void>;
}

/** How long a server may take to finish what it has begun. */
const serverGraceMs = 30_000;
/** And a component: the longest drain delay, 65 s for what is in flight, and a margin, as with other orchestrators (docs/deploying.md). */
export const componentGraceMs = 100_000;

/** Everything that a stack has started, in the order in which it came up; it goes down in the other. */
export class Processes {
  readonly #parts: Part[] = [];
  #stopping: Promise<void> | undefined;

  /** A process of its own. */
  add(process: Supervised, admin: string | null, stage?: Stage): void {
    this.#parts.push({
      name: process.name,
      stage,
      admin,
      pid: () => process.current().pid,
      leave: nothing,
      stop: () => process.stop(stage === undefined ? serverGraceMs : componentGraceMs),
      kill: (signal) => process.kill(signal),
    });
  }

  /** A part of this process. */
  addHere(name: string, admin: string, part: PartHere): void {
    this.#parts.push({
      ...{ name, admin, pid: () => process.pid, kill: () => undefined },
      leave: () => part.leave(),
      stop: () => part.stop(),
    });
  }

  /** Something that is no process, but is to be closed in its turn. */
  addWork(stop: () => Promise<void>): void {
    this.#parts.push({ name: '', admin: null, pid: () => 0, leave: nothing, stop, kill: () => undefined });
  }

  list(): StackProcess[] {
    return this.#parts.filter(({ name }) => name !== '').map(({ name, admin, pid }) => ({ name, pid: pid(), admin }));
  }

  /** Sends a signal to a part that is a process of its own. */
  kill(name: string, signal: NodeJS.Signals): void {
    const part = this.#parts.find((candidate) => candidate.name === name);
    if (!part) throw new Error(`No running process is named ${name}`);
    part.kill(signal);
  }

  /** Sends a signal to all that are processes of their own. */
  killAll(signal: NodeJS.Signals): void {
    for (const part of this.#parts) part.kill(signal);
  }

  /**
   * Stops everything, what came up last first: the gateway takes no more requests before the services go, and those are
   * gone before what they stand on. A part that fails to stop does not keep the others up.
   */
  stop(): Promise<void> {
    this.#stopping ??= this.#stopAll();
    return this.#stopping;
  }

  async #stopAll(): Promise<void> {
    const troubles: unknown[] = [];
    const note = (error: unknown) => void troubles.push(error);
    const stop = (part: Part) => part.stop().catch(note);
    // Each stops only when its drain delay is over: all wait for theirs at the same time.
    await Promise.all(this.#parts.map((part) => part.leave().catch(note)));
    // Each takes its time to drain.
    for (const stage of ['gateways', 'services'] as const) {
      await Promise.all(this.#parts.filter((part) => part.stage === stage).map(stop));
    }
    for (const part of this.#parts.toReversed()) if (part.stage === undefined) await stop(part);
    if (troubles.length > 0) throw new AggregateError(troubles, 'Some processes did not stop cleanly');
  }
}

function nothing(): Promise<void> {
  return Promise.resolve();
}
