import { createHmac, randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { secretsOf } from '@eligo/stack';
import { type Bench, placeOf } from '../bench.ts';
import { figures } from '../figures.ts';
import type { LoadResult } from '../processes/generator.ts';
import { type Compared, median } from '../rounds.ts';
import { endRefundWatch } from './refund.ts';
import { paidSessions, refundSessions } from './sessions.ts';

/** Signed events of refunds, as fast as the connections are answered: how many a second are stored. Fails when one is lost. */
export async function processorEvents(bench: Bench): Promise<Compared> {
  const rounds = await measure(bench, (lists) => {
    const { load, stack, sizes } = bench;
    return load.ask('run', {
      ...{ port: stack.port, connections: sizes.connections },
      requests: { kind: 'each', texts: lists },
    });
  });
  const ours = median(rounds.map(({ perSecond }) => perSecond));
  return { ratio: ours, ours, theirs: figures['processor-events'].goals[bench.stack.topology] };
}

/** The same at a steady rate: the ninety-ninth percentile of the answers, from when each event was due. */
export async function processorEventsP99(bench: Bench): Promise<Compared> {
  const { load, stack, sizes } = bench;
  const rounds = await measure(bench, (lists) =>
    load.ask('run', {
      ...{ port: stack.port, connections: sizes.connections, perSecond: sizes.processorEventsPerSecond },
      requests: { kind: 'shared', texts: lists.flat(), seconds: sizes.seconds },
    }),
  );
  const ours = median(rounds.map(({ p99Ms }) => p99Ms));
  return { ratio: ours, ours, theirs: figures['processor-events-p99'].goals[stack.topology] };
}

async function measure(
  bench: Bench,
  send: (lists: readonly (readonly string[])[]) => Promise<LoadResult>,
): Promise<LoadResult[]> {
  const { sizes, postgres } = bench;
  const place = await placeOf(bench);
  const perConnection = Math.ceil(sizes.perRound / sizes.connections);
  await refundSessions(place, await paidSessions(place, perConnection));
  const refunds = await refundsAtProcessor(bench, perConnection * sizes.connections);
  // Their job must look at no refund meanwhile.
  await endRefundWatch(postgres);
  const results: LoadResult[] = [];
  // The first round warms up.
  for (let round = 0; round <= sizes.rounds; round += 1) {
    const events = newEvents(bench, refunds);
    const lists = Array.from({ length: sizes.connections }, (_, at) =>
      events.filter((_event, index) => index % sizes.connections === at).map(({ text }) => text),
    );
    const result = await send(lists);
    if (result.count > events.length) throw new Error(`${result.count} requests sent ${events.length} events`);
    await untilHandled(bench, events, result.count);
    results.push(result);
  }
  return results.slice(1);
}

interface ProcessorRefund {
  readonly id: string;
  readonly account: string;
}

async function refundsAtProcessor({ postgres, stack }: Bench, count: number): Promise<ProcessorRefund[]> {
  const { rows } = await postgres.query<ProcessorRefund>(
    `select a.processor_refund_id as id, i.processor_account as account
       from refunds.refund_attempts a join refunds.refund_items i using (account_id, test_mode, refund_id, payment_intent_id)
      where a.account_id = $1 and a.processor_refund_id is not null order by a.created_at desc limit $2`,
    [stack.file.account, count],
  );
  // A refund whose answer came late on a busy machine is sent again by the sweep.
  if (rows.length === 0) throw new Error('no refund is at the processor');
  return rows;
}

interface SignedEvent {
  readonly id: string;
  readonly text: string;
}

// Each has an identifier of its own, and a signature of now, which lasts five minutes.
function newEvents({ stack, sizes }: Bench, refunds: readonly ProcessorRefund[]): SignedEvent[] {
  const secret = secretsOf(stack.home).sandboxEventsSecret;
  const created = Math.floor(Date.now() / 1_000);
  return Array.from({ length: Math.ceil(sizes.processorEventsPerSecond * sizes.seconds) }, (_, at) => {
    const id = `evt_${randomUUID().replaceAll('-', '')}`;
    const refund = refunds[at % refunds.length];
    const body = JSON.stringify({
      ...{ id, object: 'event', type: 'refund.updated', created, livemode: false, account: refund?.account },
      data: { object: { id: refund?.id, object: 'refund' } },
    });
    const signature = createHmac('sha256', secret).update(`${created}.${body}`).digest('hex');
    const head = [
      ...['POST /processors/sandbox/events HTTP/1.1', 'Host: 127.0.0.1', 'Content-Type: application/json'],
      ...[`Content-Length: ${Buffer.byteLength(body)}`, `Stripe-Signature: t=${created},v1=${signature}`],
    ];
    return { id, text: `${head.join('\r\n')}\r\n\r\n${body}` };
  });
}

const handledWithinMs = 60_000;

/** Each event that was answered is stored once, and the state of its refund is fetched. */
async function untilHandled({ postgres }: Bench, events: readonly SignedEvent[], answered: number): Promise<void> {
  const deadline = performance.now() + handledWithinMs;
  for (;;) {
    const { rows } = await postgres.query<{ stored: number; handled: number }>(
      `select count(*)::integer as stored, count(*) filter (where status = 'handled')::integer as handled
         from refunds.processor_events where id = any($1)`,
      [events.map(({ id }) => id)],
    );
    const { stored, handled } = rows[0] ?? { stored: 0, handled: 0 };
    if (stored !== answered) throw new Error(`of ${answered} events that were answered ${stored} are stored`);
    if (handled === answered) return;
    if (performance.now() > deadline) throw new Error(`of ${answered} events ${handled} were handled within a minute`);
    await pause(50);
  }
}
