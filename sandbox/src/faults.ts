import { invalidRequest } from './refusal.ts';

export const faultKinds = [
  /** Answers 500 and has done nothing; the 500 is stored under the key. */
  'error_before',
  /** Does it, and answers 500 all the same; the 500 is stored under the key. */
  'error_after',
  /** The connection breaks before the request is carried out: it never will be. */
  'drop_before',
  /** Does it and stores the answer, but the connection breaks instead of answering. */
  'drop_after',
  /** The connection breaks at once, and the request is carried out `delay_ms` later: an orphan still on its way. */
  'late',
  /** Answers 409 as if another request with the same key were running. */
  'in_progress',
  /** Answers 429 with `Retry-After: delay_ms`, in whole seconds: turned away before it is looked at, and nothing is stored. */
  'rate_limited',
  /** Does it at once and answers `delay_ms` later. */
  'slow',
] as const;

export type FaultKind = (typeof faultKinds)[number];

export interface Fault {
  /** `payment_intents.confirm`, …, or `*` for every call. */
  call: string;
  kind: FaultKind;
  delay_ms: number;
  /** How many calls it still hits, or null when `rate` decides. */
  times: number | null;
  /** The share of calls that it hits, 0 to 1, or null when `times` decides. */
  rate: number | null;
}

export interface Faults {
  list(): Fault[];
  arm(given: unknown): Fault;
  clear(): void;
  /** The fault that hits this call, if any, counted down. */
  take(call: string): Fault | undefined;
}

const maxFaults = 100;
const maxDelayMs = 120_000;
const defaultDelayMs = 1_000;

/** The faults that are armed. They are an instrument of whoever tests, not state: a restart disarms them. */
export function openFaults(random: () => number = Math.random): Faults {
  let armed: Fault[] = [];
  return {
    list: () => armed.map((fault) => ({ ...fault })),
    arm: (given) => {
      if (armed.length >= maxFaults) throw invalidRequest(`At most ${maxFaults} faults can be armed.`);
      const fault = readFault(given);
      armed.push(fault);
      return { ...fault };
    },
    clear: () => {
      armed = [];
    },
    take: (call) => {
      const fault = armed.find(
        (candidate) =>
          (candidate.call === '*' || candidate.call === call) && (candidate.rate === null || random() < candidate.rate),
      );
      if (fault?.times != null) {
        fault.times -= 1;
        armed = armed.filter((candidate) => candidate.times !== 0);
      }
      return fault;
    },
  };
}

function readFault(given: unknown): Fault {
  const fields = isRecord(given) && isRecord(given.fault) ? given.fault : undefined;
  if (fields === undefined) throw invalidRequest('The body must be {"fault": {…}}.', { param: 'fault' });
  const kind = faultKinds.find((candidate) => candidate === fields.kind);
  if (kind === undefined)
    throw invalidRequest(`kind must be one of ${faultKinds.join(', ')}.`, { param: 'fault[kind]' });
  const call = fields.call ?? '*';
  if (typeof call !== 'string' || !/^(\*|[a-z_]+\.[a-z_]+)$/.test(call)) {
    throw invalidRequest('call must be the name of a call, such as payment_intents.confirm, or *.', {
      param: 'fault[call]',
    });
  }
  const rate = optionalNumber(fields.rate, 'rate', 0, 1);
  const times = optionalNumber(fields.times, 'times', 1, 1_000_000);
  if (rate !== null && times !== null)
    throw invalidRequest('Send either times or rate, not both.', { param: 'fault[rate]' });
  return {
    call,
    kind,
    delay_ms: optionalNumber(fields.delay_ms, 'delay_ms', 0, maxDelayMs) ?? defaultDelayMs,
    times: rate === null ? Math.trunc(times ?? 1) : null,
    rate,
  };
}

function optionalNumber(value: unknown, name: string, min: number, max: number): number | null {
  if (value === undefined || value === null) return null;
  if (typeof value !== 'number' || !(value >= min && value <= max)) {
    throw invalidRequest(`${name} must be a number from ${min} to ${max}.`, { param: `fault[${name}]` });
  }
  return value;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
