/** What happens at an armed failpoint: the process kills itself, the step fails, or it waits until it is released. */
export type FailpointAction = 'kill' | 'error' | 'pause';

/** A failpoint as the admin port shows it. */
export interface FailpointState {
  readonly name: string;
  /** How often it was passed since failpoints were turned on. */
  readonly hits: number;
  readonly armed?: { readonly action: FailpointAction; readonly skip: number };
  /** Steps that are held there now. */
  readonly waiting: number;
}

/** The error that an armed failpoint throws. */
export class FailpointError extends Error {
  constructor(name: string) {
    super(`failpoint ${name}`);
    this.name = 'FailpointError';
  }
}

interface Failpoint {
  hits: number;
  armed: { action: FailpointAction; skip: number } | undefined;
  readonly waiting: Set<() => void>;
  readonly watching: Set<() => void>;
}

/** A pause that is never released ends after this: longer than any call, shorter than a test's timeout. */
const longestPauseMs = 60_000;

const declared = new Map<string, Failpoint>();
let on = false;
let armedAtStart: string | undefined;

/**
 * A named place where tests may stop, break or kill the process: `await failpoint('confirm.after_T2')`. Does nothing unless failpoints are on
 * (`ELIGO_FAILPOINTS=on`, refused in production).
 */
export function failpoint(name: string): Promise<void> | undefined {
  return on ? pass(name) : undefined;
}

/** Declares failpoints, so that tests can enumerate them. Called once, where the action with the failpoints is. */
export function declareFailpoints<const Names extends readonly string[]>(names: Names): Names {
  for (const name of names) {
    if (!declared.has(name)) declared.set(name, { hits: 0, armed: undefined, waiting: new Set(), watching: new Set() });
  }
  return names;
}

/** Turns failpoints on; `armed` is `name` or `name:skip`, to kill the process at its pass number skip + 1. */
export function turnFailpointsOn(armed?: string): void {
  on = true;
  // Each component of a process reads the same variable; the first to do so arms it.
  if (armed === undefined || armed === armedAtStart) return;
  armedAtStart = armed;
  const [name = '', skip = '0'] = armed.split(':');
  declareFailpoints([name]);
  armFailpoint(name, { action: 'kill', skip: Number.parseInt(skip, 10) || 0 });
}

/** Turns failpoints off, disarms them all and releases their waiters. */
export function turnFailpointsOff(): void {
  for (const name of declared.keys()) releaseFailpoint(name);
  on = false;
  armedAtStart = undefined;
}

/** Arms a failpoint for one firing, after `skip` passes. Throws for an undeclared name. */
export function armFailpoint(name: string, arming: { action: FailpointAction; skip?: number }): void {
  if (!on) throw new Error('Failpoints are off');
  find(name).armed = { action: arming.action, skip: arming.skip ?? 0 };
}

/** Disarms a failpoint and releases its waiters. */
export function releaseFailpoint(name: string): void {
  const point = find(name);
  point.armed = undefined;
  for (const letGo of [...point.waiting]) letGo();
}

/** Resolves once a step is held at the failpoint. */
export async function failpointReached(name: string): Promise<void> {
  const point = find(name);
  if (point.waiting.size > 0) return;
  await new Promise<void>((resolve) => {
    point.watching.add(resolve);
  });
}

/** Every declared failpoint. */
export function listFailpoints(): FailpointState[] {
  return [...declared]
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, { hits, armed, waiting }]) => ({
      name,
      hits,
      ...(armed === undefined ? {} : { armed: { ...armed } }),
      waiting: waiting.size,
    }));
}

async function pass(name: string): Promise<void> {
  const point = find(name);
  point.hits += 1;
  if (point.armed === undefined) return;
  if (point.armed.skip > 0) {
    point.armed.skip -= 1;
    return;
  }
  const { action } = point.armed;
  point.armed = undefined;
  if (action === 'error') throw new FailpointError(name);
  if (action === 'kill') process.kill(process.pid, 'SIGKILL');
  await hold(point);
}

// A killed process may still run a few lines before the signal arrives, so it is held as well.
function hold(point: Failpoint): Promise<void> {
  return new Promise((resolve) => {
    const letGo = () => {
      clearTimeout(timer);
      point.waiting.delete(letGo);
      resolve();
    };
    const timer = setTimeout(letGo, longestPauseMs);
    point.waiting.add(letGo);
    for (const seen of [...point.watching]) seen();
    point.watching.clear();
  });
}

function find(name: string): Failpoint {
  const point = declared.get(name);
  if (point === undefined) throw new Error(`No failpoint is named ${name}`);
  return point;
}
