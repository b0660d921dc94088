import { waitUntil } from '@eligo/testkit';
import type { Random } from '../chaos/random.ts';
import type { RunningShop } from '../crashes/running-shop.ts';
import { type Json, records } from '../records.ts';

/** The sandbox processor, whose next calls go wrong. */
export interface FaultyProcessor {
  /** Has one of the next calls of a payment go wrong. */
  disturb(random: Random): Promise<void>;
  /** What is armed will hit nothing: the sandbox is about to be restarted, or is to work again. */
  forget(): Promise<void>;
  /** How many calls went wrong, by what happened to them. */
  readonly hits: Readonly<Record<string, number>>;
}

// Longer than billing waits for a charge, and than checkout waits for the processor.
const tooLateMs = 1_500;

/** Times out, breaks the connection before and after, fails, turns away, and carries out later what it did not answer. */
const faults = [
  ...['drop_after', 'drop_before', 'error_after', 'error_before', 'in_progress'].map((kind) => ({ kind })),
  { kind: 'late', delay_ms: tooLateMs },
  { kind: 'slow', delay_ms: tooLateMs },
  { kind: 'rate_limited', delay_ms: 1_000 },
];
const calls = [...Array.from({ length: 3 }, () => 'payment_intents.confirm'), 'payment_intents.create'];

export function faultyProcessor({ eligo }: Pick<RunningShop, 'eligo'>): FaultyProcessor {
  const hits: Record<string, number> = {};
  const count = ({ kind }: Json, by: number) => {
    hits[String(kind)] = (hits[String(kind)] ?? 0) + by;
  };
  return {
    hits,
    async disturb(random) {
      const fault = { call: random.pick(calls), times: 1, ...random.pick(faults) };
      const arm = () => eligo.sandbox('POST', '/sandbox/faults', { fault });
      await waitUntil(arm, { withinMs: 30_000, what: 'the sandbox' });
      count(fault, 1);
    },
    async forget() {
      const armed = records(await eligo.sandbox('GET', '/sandbox/faults'), 'data');
      await eligo.sandbox('DELETE', '/sandbox/faults');
      for (const fault of armed) count(fault, -1);
    },
  };
}
