import { hash } from 'node:crypto';
import type { Call, Route } from '../api/route.ts';
import type { Fault, Faults } from '../faults.ts';
import { internalError, Refusal, rateLimited } from '../refusal.ts';
import type { Write } from '../store/group-commit.ts';
import type { IdempotencyKeys, StoredAnswer } from '../store/idempotency-keys.ts';
import { expandAnswer } from './expand.ts';
import { type Form, parseForm } from './form.ts';
import { Parameters } from './parameters.ts';

/** A request whose sender is known and whose route exists. */
export interface Request {
  route: Route;
  method: string;
  path: string;
  id: string;
  /** The form body of a POST, the query string otherwise. */
  form: string;
  account: string;
  idempotencyKey: string | null;
  requestId: string;
}

export interface Answer extends StoredAnswer {
  replayed: boolean;
  retryAfterSeconds?: number;
}

export interface Executor {
  /** The answer, or undefined when the connection is to break instead. */
  run(request: Request): Promise<Answer | undefined>;
  /** Forgets the orphans that are still on their way, and has slow answers sent at once. */
  stop(): void;
}

export interface ExecutorParts {
  write: Write;
  /** Settles when what can be read now is on disk. */
  durable: () => Promise<void>;
  keys: IdempotencyKeys;
  faults: Faults;
  keyClockAheadMs: () => number;
  /** Makes the context of a call; `settle` runs once what the call wrote is on disk. */
  openCall(request: Request, nowMs: number): { call: Call; settle: () => void };
  onBug(error: unknown, request: Request): void;
}

/**
 * Carries out one request by Stripe's rules of idempotency: the status and body of the first execution are stored under
 * (account, key), 500s too, and replayed for 24 hours; other parameters or another endpoint under a key are refused; so is
 * a key whose first request still runs. What fails validation was never executed and is not stored.
 */
export function createExecutor(parts: ExecutorParts): Executor {
  const running = new Set<string>();
  const orphans = new Set<NodeJS.Timeout>();
  const delays = new Set<() => void>();
  let isStopped = false;

  async function run(request: Request): Promise<Answer | undefined> {
    const fault = parts.faults.take(request.route.call);
    if (fault?.kind === 'drop_before') return undefined;
    if (fault?.kind === 'in_progress') return refused(keyInUse(request.idempotencyKey));
    // Before the key is looked at, as Stripe's rate limits are.
    if (fault?.kind === 'rate_limited') {
      return { ...refused(rateLimited()), retryAfterSeconds: Math.ceil(fault.delay_ms / 1_000) };
    }
    if (fault?.kind === 'late') {
      sendLater(request, fault.delay_ms);
      return undefined;
    }
    const answer = await exclusively(request, async () => {
      const made = request.method === 'GET' ? await readOnly(request, fault) : await perform(request, fault);
      if (fault?.kind === 'slow') await delay(fault.delay_ms);
      return made;
    });
    return fault?.kind === 'drop_after' ? undefined : answer;
  }

  async function exclusively(request: Request, work: () => Promise<Answer>): Promise<Answer> {
    if (request.idempotencyKey === null || request.method === 'GET') return work();
    const name = `${request.account} ${request.idempotencyKey}`;
    if (running.has(name)) return refused(keyInUse(request.idempotencyKey));
    running.add(name);
    try {
      return await work();
    } finally {
      running.delete(name);
    }
  }

  async function readOnly(request: Request, fault: Fault | undefined): Promise<Answer> {
    if (fault?.kind === 'error_before' || fault?.kind === 'error_after') return refused(internalError());
    try {
      const { parameters, expand } = readParameters(parseForm(request.form));
      const { call } = parts.openCall(request, Date.now());
      const answer = succeeded(request.route.prepare(parameters)(call), expand, call);
      await parts.durable();
      return { ...answer, replayed: false };
    } catch (error) {
      if (error instanceof Refusal) return refused(error);
      parts.onBug(error, request);
      return refused(internalError());
    }
  }

  async function perform(request: Request, fault: Fault | undefined): Promise<Answer> {
    const nowMs = Date.now();
    const { call, settle } = parts.openCall(request, nowMs);
    try {
      const form = parseForm(request.form);
      const answer = await parts.write(() => execute(request, form, call, fault, nowMs + parts.keyClockAheadMs()));
      settle();
      return answer;
    } catch (error) {
      if (error instanceof Refusal) return refused(error);
      parts.onBug(error, request);
      return refused(internalError());
    }
  }

  function execute(request: Request, form: Form, call: Call, fault: Fault | undefined, keyNowMs: number): Answer {
    const { route, account, idempotencyKey: key } = request;
    const endpoint = `${request.method} ${request.path}`;
    const fingerprint = key === null ? '' : fingerprintOf(form);
    const stored = key === null ? undefined : parts.keys.find(account, key, keyNowMs);
    if (key !== null && stored !== undefined) {
      if (stored.endpoint !== endpoint) throw otherEndpoint(key, stored.endpoint);
      if (stored.fingerprint !== fingerprint) throw otherParameters(key);
      return { status: stored.status, body: stored.body, replayed: true };
    }
    const { parameters, expand } = readParameters(form);
    const work = route.prepare(parameters);
    const answer = fault?.kind === 'error_before' ? refusal(internalError()) : carryOut(work, call, expand);
    const told = fault?.kind === 'error_after' ? refusal(internalError()) : answer;
    if (key !== null) parts.keys.store(account, key, { endpoint, fingerprint, ...told }, keyNowMs);
    return { ...told, replayed: false };
  }

  function sendLater(request: Request, delayMs: number): void {
    const timer = setTimeout(() => {
      orphans.delete(timer);
      exclusively(request, () => perform(request, undefined)).catch((error) => parts.onBug(error, request));
    }, delayMs);
    orphans.add(timer);
  }

  function delay(ms: number): Promise<void> {
    // What was begun before ends without the delay.
    if (isStopped) return Promise.resolve();
    return new Promise((resolve) => {
      const end = () => {
        clearTimeout(timer);
        delays.delete(end);
        resolve();
      };
      const timer = setTimeout(end, ms);
      delays.add(end);
    });
  }

  function stop(): void {
    isStopped = true;
    for (const timer of orphans) clearTimeout(timer);
    for (const end of delays) end();
  }

  return { run, stop };
}

function carryOut(work: (call: Call) => object, call: Call, expand: string[]): StoredAnswer {
  try {
    return succeeded(work(call), expand, call);
  } catch (error) {
    if (error instanceof Refusal) return refusal(error);
    throw error;
  }
}

function succeeded(result: object, expand: string[], call: Call): StoredAnswer {
  if (expand.length > 0) expandAnswer(result, expand, call.records, call.account);
  return { status: 200, body: JSON.stringify(result) };
}

function refusal(error: Refusal): StoredAnswer {
  return { status: error.status, body: JSON.stringify({ error: error.body }) };
}

function refused(error: Refusal): Answer {
  return { ...refusal(error), replayed: false };
}

function readParameters(form: Form): { parameters: Parameters; expand: string[] } {
  const parameters = new Parameters(form.values);
  return { parameters, expand: parameters.list('expand') ?? [] };
}

/** Of the decoded parameters, in any order: what counts is what was asked for, not how it was written down. */
function fingerprintOf(form: Form): string {
  return hash('sha256', JSON.stringify(form.pairs.map(([name, value]) => `${name}=${value}`).sort()));
}

function keyInUse(key: string | null): Refusal {
  return new Refusal(409, {
    type: 'idempotency_error',
    code: 'idempotency_key_in_use',
    message: `There is currently another in-progress request using this Idempotent Key (that probably means you submitted twice, and the other request is still going through): ${key ?? ''}. Please try again later.`,
  });
}

function otherParameters(key: string): Refusal {
  return new Refusal(400, {
    type: 'idempotency_error',
    message: `Keys for idempotent requests can only be used with the same parameters they were first used with. Try using a key other than '${key}' if you meant to execute a different request.`,
  });
}

function otherEndpoint(key: string, endpoint: string): Refusal {
  return new Refusal(400, {
    type: 'idempotency_error',
    message: `Keys for idempotent requests can only be used for the same endpoint they were first used for ('${endpoint}'). Try using a key other than '${key}' if you meant to execute a different request.`,
  });
}
