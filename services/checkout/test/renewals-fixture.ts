import type { ProcessorPort } from '@eligo/processor';
import { expect } from 'vitest';
import type { Context } from '../src/context.ts';
import type { Session } from '../src/domain/session.ts';
import type { TimelineEntry } from '../src/domain/session-timeline.ts';
import { followHolds } from '../src/jobs/follow-holds.ts';
import { sweepCharges } from '../src/jobs/sweep-charges.ts';
import { readSessionTimeline } from '../src/store/session-timeline.ts';
import { type CapturesFixture, openCapturesFixture } from './captures-fixture.ts';
import type { FixtureOptions } from './fixture.ts';
import { type LettersFixture, letterLine, lettersFixture } from './letters-fixture.ts';

export const hour = 3_600_000;
export const day: number = 24 * hour;

/** Sessions whose letters are reviewed while time passes, for Eligo and for the processor. */
export interface RenewalsFixture extends CapturesFixture {
  readonly letters: LettersFixture;
  pass(ms: number): Promise<void>;
  /** The job, until it has nothing more to do, and the sweep of what it leaves. */
  follow(with_?: Context): Promise<void>;
  /** The job once, without a sweep. */
  followOnce(with_?: Context): Promise<void>;
  lookAgain(session: Session): Promise<unknown>;
  /** How the processor has the attempts of each leg, oldest first. */
  kinds(session: Session): Promise<Record<'health' | 'other', string[]>>;
  timeline(session: Session): Promise<TimelineEntry[]>;
  /** 30.00 that needs a letter, on the health card alone. */
  heldOnHealthCard(): Promise<Session>;
  /** The same session when its hold is due to be renewed: 36 hours before it lapses. */
  due(session: Session): Promise<Session>;
  /** Throws unless the letter is approved and then each card gives its money once, with nothing left held. */
  isCapturedOnce(session: Session, amounts: number[]): Promise<void>;
  /** The same of a session of which nothing is taken. */
  isVoided(session: Session): Promise<void>;
}

export const held = (kinds: readonly string[]) => kinds.filter((kind) => kind === 'requires_capture').length;

export async function openRenewalsFixture(options: FixtureOptions = {}): Promise<RenewalsFixture> {
  const opened = await openCapturesFixture({}, options);
  const { database, scope, clock } = opened;
  let aheadMs = 0;
  const heldAhead = new Map<string, number>();
  clock.set(new Date());
  // The sandbox says by the wall clock until when a card is held, and lapses holds by its own clock, which the tests move with Eligo's.
  const heldAheadMs = (intentId: string) => {
    const known = heldAhead.get(intentId) ?? aheadMs;
    heldAhead.set(intentId, known);
    return known;
  };
  const moved = (port: ProcessorPort) => ({ ...port, ...onClock(port, heldAheadMs) });
  const contextWith: CapturesFixture['contextWith'] = (change) =>
    opened.contextWith((port) => ({ ...moved(port), ...change(moved(port)) }));
  const context = contextWith(() => ({}));
  const fixture: CapturesFixture = {
    ...opened,
    context,
    contextWith,
    confirm: (session, card, options, with_ = context) => opened.confirm(session, card, options, with_),
    async sweepAll() {
      for (let round = 0; round < 6; round++) {
        await opened.lapseLeases();
        await sweepCharges(context);
        const [rest] = await opened.test.admin<{ unsettled: boolean }>(
          `select exists (select from checkout.intent_operations where status in ('pending', 'waiting'))
             or exists (select from checkout.charge_attempts where status in ('created', 'sending', 'unknown')) as unsettled`,
        );
        if (rest?.unsettled === false) return;
      }
    },
  };
  const letters = lettersFixture(fixture);
  const kinds: RenewalsFixture['kinds'] = async ({ id }) => {
    const attempts = await fixture.test.admin<{ leg: 'health' | 'other'; intent: string }>(
      `select leg, processor_intent_id as intent from checkout.charge_attempts
       where subject_id = $1 and processor_intent_id is not null order by created_at`,
      [id],
    );
    const found: Record<'health' | 'other', string[]> = { health: [], other: [] };
    const processor = context.processors.of(scope);
    for (const { leg, intent } of attempts) found[leg].push((await processor.retrieveIntent(intent)).kind);
    return found;
  };
  const pass = async (ms: number) => {
    aheadMs += ms;
    await fixture.advanceProcessor(ms);
    clock.set(new Date(clock.now().getTime() + ms));
  };
  const run = (with_: Context) => followHolds(with_).run(new AbortController().signal);
  return {
    ...fixture,
    letters,
    kinds,
    pass,
    async follow(with_ = context) {
      for (let count = 0; count < 10; count++) if ((await run(with_)) !== true) break;
      await fixture.sweepAll();
    },
    async followOnce(with_ = context) {
      await run(with_);
    },
    lookAgain: ({ id }) =>
      fixture.test.admin(
        "update checkout.payment_intents set hold_check_at = '2020-01-01' where session_id = $1 and status = 'requires_capture'",
        [id],
      ),
    async timeline({ id }) {
      return (await readSessionTimeline(database, scope, id))?.entries ?? [];
    },
    async heldOnHealthCard() {
      const hsa = await fixture.card('hsa');
      const session = await fixture.session({ lines: [letterLine(3_000)], customerId: hsa.customerId });
      return letters.pay(session, [hsa]);
    },
    async due(session) {
      const [row] = await fixture.test.admin<{ until: Date }>(
        "select max(capture_before) as until from checkout.payment_intents where session_id = $1 and status = 'requires_capture'",
        [session.id],
      );
      if (row === undefined) throw new Error('nothing is held');
      // By the time that the processor has said: the tests' clock stands still while they run, and the processor's does not.
      await pass(row.until.getTime() - clock.now().getTime() - 36 * hour + 60_000);
      return fixture.reload(session);
    },
    async isCapturedOnce(session, amounts) {
      await letters.decide(await letters.onlyLetter(session), 'approved');
      await fixture.sweepAll();
      const received = amounts.reduce((sum, amount) => sum + amount, 0);
      expect(await fixture.reload(session)).toMatchObject({ status: 'complete', amountReceivedCents: received });
      const taken = (await fixture.charges(session)).map((charge) => charge.amount_captured);
      expect(taken.filter((amount) => amount > 0).sort()).toEqual(amounts);
      const { health, other } = await kinds(session);
      expect(held([...health, ...other])).toBe(0);
      await fixture.booksAgree(session);
    },
    async isVoided(session) {
      const { health, other } = await kinds(session);
      expect([...health, ...other].filter((kind) => kind !== 'canceled')).toEqual([]);
      expect(await fixture.reload(session)).toMatchObject({ status: 'canceled', amountReceivedCents: 0 });
      expect(await fixture.told(session)).toMatchObject({ 'checkout.session.expired': 1 });
      await fixture.booksAgree(session);
    },
  };
}

function onClock(
  port: ProcessorPort,
  heldAheadMs: (intentId: string) => number,
): Pick<ProcessorPort, 'confirmIntent' | 'retrieveIntent'> {
  const later = <Answer extends object>(intentId: string, answer: Answer): Answer =>
    'captureBefore' in answer && answer.captureBefore instanceof Date
      ? { ...answer, captureBefore: new Date(answer.captureBefore.getTime() + heldAheadMs(intentId)) }
      : answer;
  return {
    confirmIntent: async (id, ...call) => later(id, await port.confirmIntent(id, ...call)),
    retrieveIntent: async (id, ...call) => later(id, await port.retrieveIntent(id, ...call)),
  };
}
