import { deleteStreams } from '@eligo/events';
import { type Constellation, waitUntil } from '@eligo/testkit';
import { booksAgree } from '../books.ts';
import { chargesOf } from '../crashes/charges-of.ts';
import type { RunningShop } from '../crashes/running-shop.ts';
import { newShopper } from '../crashes/shopper.ts';
import { record } from '../records.ts';
import { type Client, type Manner, newClient } from './clients.ts';
import { effectsMatch, subscribe } from './effects.ts';
import type { FillableDisk } from './full-disk.ts';
import { newKiller } from './killer.ts';
import { type Random, randomOf } from './random.ts';

export interface ChaosSettings {
  readonly seed: number;
  readonly sessions: number;
  readonly kills: number;
  /** Filled, and emptied again, after every so many kills; halfway to the next time the stream of checkout is lost. */
  readonly disk: FillableDisk;
  readonly killsBetween: number;
  /** How every client behaves; each in its own manner by default. */
  readonly manner?: Manner;
}

/** What happened. */
export interface ChaosReport {
  readonly seed: number;
  readonly sessions: number;
  readonly paid: number;
  readonly kills: Readonly<Record<string, number>>;
  readonly fullDisks: number;
  readonly lostStreams: number;
  /** Under fire, until the last client was done; and after, until everything was paid, announced and compared. */
  readonly underFireMs: number;
  readonly untilQuietMs: number;
  /** From the last fault until every charge and every event was settled, while no client asked again. */
  readonly settledMs: number;
  /** From the last fault until every process was up and reached the others: a part of it. */
  readonly recoveredMs: number;
  /** What was settled last. */
  readonly settledLast: string;
}

/** Of all confirmations at the processor, about one in seven goes wrong on its way there or back. */
const processorFaults = [
  { call: 'payment_intents.confirm', kind: 'drop_after', rate: 0.05 },
  { call: 'payment_intents.confirm', kind: 'drop_before', rate: 0.03 },
  { call: 'payment_intents.confirm', kind: 'error_after', rate: 0.02 },
  { call: 'payment_intents.confirm', kind: 'error_before', rate: 0.02 },
  { call: 'payment_intents.confirm', kind: 'late', rate: 0.02, delay_ms: 1_500 },
  { call: 'payment_intents.create', kind: 'drop_after', rate: 0.02 },
];

/**
 * Sessions are confirmed while parts are killed at random, database connections are cut, the processor's answers get lost, the disk is full for seconds and a
 * stream is deleted with its consumers; 15 % of the clients
 * never ask again. When all is quiet again: no session is charged twice, no charge is lost, nothing is unsettled, no key has two answers, and every
 * change has its event. Throws with what does not hold.
 */
export async function runChaos(running: RunningShop, settings: ChaosSettings): Promise<ChaosReport> {
  const { eligo } = running;
  const random = randomOf(settings.seed);
  const receiver = await subscribe(eligo);
  const clients = await fillCarts(running, random, settings);
  const startedAt = performance.now();
  const { kills, ...others } = await underFire(eligo, random, clients, settings);
  const quietFrom = performance.now();
  await eligo.sandbox('DELETE', '/sandbox/faults');
  await eligo.recovered();
  const recoveredMs = performance.now() - quietFrom;
  // Nobody asks for anything now: what the kills have left is settled without help.
  const settledLast = await booksAgree(eligo, 120_000);
  const settledMs = performance.now() - quietFrom;
  await payWhatWasLeft(running, clients);
  await booksAgree(eligo, 120_000);
  const paid = await holdAgainstAnswers(running, clients);
  await effectsMatch(eligo, receiver, paid);
  await booksAgree(eligo);
  await receiver.close();
  return {
    seed: settings.seed,
    sessions: clients.length,
    paid: paid.size,
    kills,
    ...others,
    underFireMs: Math.round(quietFrom - startedAt),
    untilQuietMs: Math.round(performance.now() - quietFrom),
    settledMs: Math.round(settledMs),
    recoveredMs: Math.round(recoveredMs),
    settledLast,
  };
}

async function fillCarts(
  running: RunningShop,
  random: Random,
  { sessions: count, manner }: ChaosSettings,
): Promise<Client[]> {
  const clients: Client[] = [];
  const fill = async () => {
    while (clients.length < count) clients.push(await newClient(running, random, manner));
  };
  await Promise.all(Array.from({ length: 8 }, fill));
  return clients.slice(0, count);
}

/** Clients at once: enough that every kill meets many of them, few enough that they wait for the killed and not for each other. */
const clientsAtOnce = 24;

// Kills go on until there were enough of them and every client is served.
async function underFire(
  eligo: Constellation,
  random: Random,
  clients: readonly Client[],
  { kills: leastKills, disk, killsBetween }: ChaosSettings,
): Promise<Pick<ChaosReport, 'kills' | 'fullDisks' | 'lostStreams'>> {
  const killer = newKiller(eligo, random);
  let fullDisks = 0;
  let lostStreams = 0;
  const waiting = [...clients];
  // What still waits is let in at the pace of the kills, so that it is not over before them.
  let letIn = 0;
  let served = 0;
  const troubles: unknown[] = [];
  const serve = async () => {
    while (waiting.length > 0 && troubles.length === 0) {
      if (clients.length - waiting.length >= letIn) await pause(20);
      else {
        const client = waiting.shift();
        await client?.confirm().catch((trouble: unknown) => troubles.push(trouble));
        served += 1;
      }
    }
  };
  await armFaults(eligo);
  const serving = Promise.all(Array.from({ length: clientsAtOnce }, serve));
  for (let kills = 1; (kills <= leastKills || served < clients.length) && troubles.length === 0; kills++) {
    letIn = Math.ceil((clients.length * kills) / leastKills);
    await pause(random.between(50, 900));
    // A restarted sandbox has no faults armed.
    if ((await killer.strike()) === 'sandbox') await armFaults(eligo);
    if (kills % killsBetween === 1) {
      await haveFullDisk(eligo, disk);
      fullDisks += 1;
    }
    if (kills % killsBetween === Math.ceil(killsBetween / 2)) {
      await deleteStreams({ url: eligo.nats }, [{ service: 'checkout', owner: 'anyone' }]);
      lostStreams += 1;
    }
    await pause(random.between(50, 900));
  }
  await serving;
  if (troubles.length > 0) {
    throw new AggregateError(troubles, `${troubles.length} clients were not served: ${troubles[0]}`);
  }
  return { kills: killer.kills, fullDisks, lostStreams };
}

// Until Eligo has seen it, Postgres refuses what adds events; then new writes are refused before that, and reads go on.
async function haveFullDisk(eligo: Constellation, disk: FillableDisk): Promise<void> {
  const api = eligo.api();
  // Answers are lost, too, while the gateway or checkout comes up again after a kill.
  const write = () => api.post('/v1/customers', { customer: { first_name: 'Ratemary' } });
  const isRefused = async () => {
    const { status, headers } = await write();
    return status === 503 && headers.get('retry-after') === '30';
  };
  await disk.fill(eligo);
  await waitUntil(isRefused, { withinMs: 30_000, everyMs: 200, what: 'that new writes are refused at a full disk' });
  const read = async () => (await api.get('/v1/customers?limit=1')).status === 200;
  await waitUntil(read, { withinMs: 10_000, everyMs: 100, what: 'a read at a full disk' });
  await disk.makeRoom(eligo);
  await waitUntil(async () => (await write()).status < 300, {
    ...{ withinMs: 30_000, everyMs: 200 },
    what: 'that writes go on once there is room',
  });
}

async function armFaults(eligo: Constellation): Promise<void> {
  const arm = async () => {
    await eligo.sandbox('DELETE', '/sandbox/faults');
    for (const fault of processorFaults) await eligo.sandbox('POST', '/sandbox/faults', { fault });
    return true;
  };
  await waitUntil(arm, { withinMs: 30_000, what: 'the sandbox' });
}

// Where a silent client's charge had not set out, the cart is still there to be paid: by somebody else, with another key.
async function payWhatWasLeft(running: RunningShop, clients: readonly Client[]): Promise<void> {
  const shopper = newShopper(running);
  for (const { cart, card, manner } of clients) {
    if (manner !== 'silent' || card === 'declined' || (await isComplete(running, cart.sessionId))) continue;
    const answer = await shopper.insist(cart, shopper.newKey());
    // 400: the sweeper had finished it meanwhile.
    if (answer.status !== 200 && answer.status !== 400) throw new Error(`answered ${answer.status} ${answer.text}`);
  }
}

// A moment after a restart the gateway may still be told that checkout is away.
async function isComplete({ api }: RunningShop, sessionId: string): Promise<boolean> {
  const read = async () => {
    const answer = await api.get(`/v1/checkout/sessions/${sessionId}`);
    return answer.status === 200 && record(answer.body, 'checkout_session');
  };
  const session = await waitUntil(read, { withinMs: 20_000, what: `session ${sessionId}` });
  return session.status === 'complete';
}

// What each client was told is what happened, and is told again to whoever asks once more with the same key.
async function holdAgainstAnswers(running: RunningShop, clients: readonly Client[]): Promise<Set<string>> {
  const paid = new Set<string>();
  for (const { cart, card, answers, again } of clients) {
    await again();
    const taken = (await chargesOf(running, cart.sessionId)).map((charge) => charge.amount_captured);
    const complete = await isComplete(running, cart.sessionId);
    const wanted = card === 'declined' ? [] : [cart.eligibleCents];
    if (taken.join() !== wanted.join() || complete !== (card !== 'declined')) {
      throw new Error(`session ${cart.sessionId}: charged ${taken.join(' + ') || 'nothing'}, complete: ${complete}`);
    }
    const statuses = answers.map(({ status }) => status);
    const told = statuses.every((status) => (card === 'declined' ? status === 402 : status === 200 || status === 400));
    if (!told) throw new Error(`session ${cart.sessionId}, paid by the card ${card}, was answered ${statuses.join()}`);
    if (complete) paid.add(cart.sessionId);
  }
  return paid;
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
