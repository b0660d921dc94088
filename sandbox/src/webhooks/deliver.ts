import { createHmac } from 'node:crypto';
import { shape } from '../shapes/shape.ts';
import type { Write } from '../store/group-commit.ts';
import type { Records } from '../store/records.ts';
import type { Deliveries, Delivery } from './deliveries.ts';

export interface Deliverer {
  /** Something was added: look now. */
  wake(): void;
  stop(): Promise<void>;
}

const answerTimeoutMs = 10_000;
const maxAtOnce = 16;
const maxSleepMs = 60_000;
/** Stripe retries for up to three days with growing pauses; the first ones are short here, since tests wait for them. */
const retryDelaysMs = [
  1_000, 5_000, 30_000, 120_000, 600_000, 3_600_000, 10_800_000, 21_600_000, 43_200_000, 86_400_000, 86_400_000,
];

/** Sends what is due to its endpoints, signed as Stripe signs, until it is accepted or given up. */
export function startDeliverer(deliveries: Deliveries, records: Records, write: Write): Deliverer {
  const aborted = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  let round: Promise<void> | undefined;
  let again = false;

  async function run(): Promise<void> {
    do {
      again = false;
      const due = deliveries.due(Date.now(), maxAtOnce);
      const outcomes = await Promise.all(due.map(async (delivery) => ({ delivery, accepted: await send(delivery) })));
      if (aborted.signal.aborted) return;
      if (outcomes.length > 0)
        await write(() => {
          for (const { delivery, accepted } of outcomes) settle(delivery, accepted);
        });
      again ||= due.length === maxAtOnce;
    } while (again);
  }

  async function send(delivery: Delivery): Promise<boolean> {
    const endpoint = records.find('webhook_endpoint', delivery.endpointAccount, delivery.endpoint);
    const event = records.find('event', delivery.account, delivery.event);
    if (endpoint === undefined || event === undefined || endpoint.status !== 'enabled') return true;
    const body = JSON.stringify(shape('event', event));
    try {
      const answer = await fetch(endpoint.url, {
        method: 'POST',
        headers: {
          'content-type': 'application/json; charset=utf-8',
          'stripe-signature': signatureOf(body, endpoint.secret),
        },
        body,
        redirect: 'manual',
        signal: AbortSignal.any([aborted.signal, AbortSignal.timeout(answerTimeoutMs)]),
      });
      await answer.body?.cancel();
      return answer.ok;
    } catch {
      // Refused, reset or timed out: the same as any answer but 2xx, it is tried again.
      return false;
    }
  }

  function settle(delivery: Delivery, accepted: boolean): void {
    const delayMs = retryDelaysMs[delivery.attempts];
    if (accepted || delayMs === undefined) deliveries.done(delivery);
    else deliveries.retryAt(delivery, Date.now() + delayMs);
  }

  function wake(): void {
    if (aborted.signal.aborted) return;
    clearTimeout(timer);
    if (round !== undefined) {
      again = true;
      return;
    }
    round = run().finally(() => {
      round = undefined;
      schedule();
    });
    // A failed write leaves its rows due: the next round tries them again.
    round.catch(() => undefined);
  }

  function schedule(): void {
    const at = aborted.signal.aborted ? undefined : deliveries.nextAt();
    if (at === undefined) return;
    timer = setTimeout(wake, Math.min(Math.max(at - Date.now(), 50), maxSleepMs));
    timer.unref();
  }

  schedule();
  return {
    wake,
    stop: async () => {
      aborted.abort();
      clearTimeout(timer);
      await round?.catch(() => undefined);
    },
  };
}

/** `t=<seconds>,v1=<HMAC-SHA256 of "<t>.<body>" in hex>`: Stripe's webhook signature. */
function signatureOf(body: string, secret: string, atSeconds = Math.floor(Date.now() / 1000)): string {
  return `t=${atSeconds},v1=${createHmac('sha256', secret).update(`${atSeconds}.${body}`).digest('hex')}`;
}
