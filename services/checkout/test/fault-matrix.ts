import { readFileSync } from 'node:fs';
import { Failure } from '@eligo/failures';
import type { ProcessorPort } from '@eligo/processor';
import type { FaultKind } from '@eligo/sandbox';
import { armFailpoint, listFailpoints, turnFailpointsOff, turnFailpointsOn } from '@eligo/service';
import { describe, expect, it } from 'vitest';
import type { Context } from '../src/context.ts';
import { type ChargeFailpoint, chargeFailpoints } from '../src/failpoints.ts';
import type { CapturesFixture } from './captures-fixture.ts';
import { type Flow, names, type Step, writes } from './processor-calls.ts';
import { converge, flowsOf, standing, stands } from './processor-flows.ts';

const kinds: readonly FaultKind[] = [
  ...(['error_before', 'error_after', 'drop_before'] as const),
  ...(['drop_after', 'in_progress', 'rate_limited'] as const),
];

/** Of reads, which have no key. */
const readKinds: readonly FaultKind[] = ['error_before', 'drop_after', 'rate_limited', 'drop_before'];

/** Which call of a flow fails. */
interface FaultAt {
  readonly of: 'calls' | 'reads';
  readonly at: number;
  readonly kind: FaultKind;
}

/** Each flow, with each fault of the sandbox at each call of its way, with and without a client that asks again. */
export function faultMatrixTests(fixture: () => CapturesFixture): void {
  const isLong = process.env.ELIGO_TEST_LONG === 'on';
  const flows = flowsOf(fixture);
  const known = new Map<string, ReturnType<typeof passesOf>>();
  const passesOnce = (flow: Flow) => {
    const passes = known.get(flow.name) ?? passesOf(fixture(), flow);
    known.set(flow.name, passes);
    return passes;
  };

  describe('a flow whose calls to the processor fail', () => {
    it('is in the table, with every write of the port that moves or promises money', () => {
      const covered = new Set(flows.flatMap(({ calls }) => calls));
      expect([...covered].sort()).toEqual(Object.values(writes).sort());
    });

    // Where nothing fails, it makes the calls of the table: a new call is added there, and has then its faults.
    it.each(flows)('$name makes the calls of the table', async (flow) => {
      const step = await flow.begin();
      const { context, made } = failing(fixture());
      await insist(fixture(), step, context);
      expect(made).toEqual({ calls: flow.calls, reads: flow.reads ?? [] });
      await stands(fixture(), step);
    });

    const cases = flows.flatMap((flow, row) =>
      (['calls', 'reads'] as const).flatMap((of) =>
        (flow[of] ?? []).flatMap((call, at) => {
          const all = of === 'calls' ? kinds : readKinds;
          const one = all[(row + at) % all.length] as FaultKind;
          const isRetried = (row + at) % 2 === 0;
          const named = { flow, name: flow.name, of, at, call };
          return isLong
            ? all.flatMap((kind) => [true, false].map((retry) => ({ ...named, kind, retry })))
            : [{ ...named, kind: one, retry: isRetried }];
        }),
      ),
    );
    it.each(cases)(
      '$name: $kind at $at of its $of, $call, asked again: $retry, moves all or nothing, once, and leaves nothing held',
      async ({ flow, of, at, kind, retry }) => {
        const step = await flow.begin();
        const before = await standing(fixture(), step.session);
        const { context, made } = failing(fixture(), { of, at, kind });
        const first = await step.run(context).then(
          () => undefined,
          (error: unknown) => error,
        );
        expect(made[of][at]).toBe(flow[of]?.[at]);
        await converge(fixture());
        if (retry || step.session === undefined) {
          await insist(fixture(), step, fixture().context, first);
          return stands(fixture(), step);
        }
        return leavesAllOrNothing(fixture(), step, before);
      },
    );
  });

  describe('a process that dies in a flow', () => {
    it.each(flows.map((flow, row) => ({ flow, row, name: flow.name })))(
      'of $name, at any failpoint, moves all or nothing, once, and leaves nothing held',
      async ({ flow, row }) => {
        const passes = await passesOnce(flow);
        const all = passes.flatMap((pass) => [true, false].map((retry) => ({ pass, retry })));
        for (const { pass, retry } of isLong ? all : [all[row % all.length]].flatMap((one) => one ?? [])) {
          const step = await flow.begin();
          const before = await standing(fixture(), step.session);
          turnFailpointsOn();
          armFailpoint(pass.name, { action: 'error', skip: pass.skip });
          const first = await step.run(fixture().context).then(
            () => undefined,
            (error: unknown) => error,
          );
          turnFailpointsOff();
          await converge(fixture());
          if (retry || step.session === undefined) {
            await insist(fixture(), step, fixture().context, first);
            await stands(fixture(), step);
          } else {
            await leavesAllOrNothing(fixture(), step, before);
          }
        }
      },
      600_000,
    );

    it('passes each failpoint of checkout, or another test of crashes does', async () => {
      const passed = new Set<string>();
      for (const flow of flows) for (const { name } of await passesOnce(flow)) passed.add(name);
      expect(chargeFailpoints.filter((name) => !passed.has(name))).toEqual(Object.keys(elsewhere));
      for (const [name, file] of Object.entries(elsewhere)) {
        const path = file.includes('/') ? `../../../${file}` : file;
        expect(readFileSync(new URL(path, import.meta.url), 'utf8')).toContain(`'${name}'`);
      }
    });
  });
}

/** Where the failpoints that no flow passes by itself have their crashes. */
const elsewhere: Partial<Record<ChargeFailpoint, string>> = {
  'charge.unknown_recorded': 'e2e/src/crashes/confirm-crashes.ts',
  'sweep.attempt_claimed': 'e2e/src/crashes/confirm-crashes.ts',
  'late.processor_answered': 'late-charges.test.ts',
  'late.before_abandon_commit': 'late-charges.test.ts',
  'late.abandoned': 'late-charges.test.ts',
  'late.before_give_back_commit': 'late-charges.test.ts',
  'late.given_back': 'late-charges.test.ts',
  'set_up.authenticated': 'set-up-authentication.test.ts',
  'card_set_up.before_begin_commit': 'set-up-crashes.ts',
  'card_set_up.begun': 'set-up-crashes.ts',
  'card_set_up.claimed': 'set-up-crashes.ts',
  'card_set_up.intent_created': 'set-up-crashes.ts',
  'card_set_up.intent_named': 'set-up-crashes.ts',
  'card_set_up.confirmed': 'set-up-crashes.ts',
  'card_set_up.canceled': 'set-up-crashes.ts',
  'card_set_up.before_wait_commit': 'set-up-crashes.ts',
  'card_set_up.waits': 'set-up-crashes.ts',
  'card_set_up.before_save_commit': 'set-up-crashes.ts',
  'card_set_up.saved': 'set-up-crashes.ts',
  'card_set_up.before_end_commit': 'set-up-crashes.ts',
  'card_set_up.ended': 'set-up-crashes.ts',
  'card_set_up.before_give_up_commit': 'set-up-crashes.ts',
  'authentication.asked': 'authentication.test.ts',
  'authentication.claimed': 'authentication.test.ts',
  'authentication.settled': 'authentication.test.ts',
  'capture.key_released': 'capture-crashes.test.ts',
  'follow_hold.before_announce_commit': 'announced-lapses.test.ts',
  'follow_hold.announced': 'announced-lapses.test.ts',
  'renewal.before_begin_commit': 'hold-renewals.test.ts',
  'renewal.begun': 'hold-renewals.test.ts',
};

// How often a flow passes each failpoint where nothing fails.
async function passesOf(
  fixture: CapturesFixture,
  flow: Flow,
): Promise<{ readonly name: ChargeFailpoint; readonly skip: number }[]> {
  const step = await flow.begin();
  const hits = () => new Map(listFailpoints().map((one) => [one.name, one.hits]));
  turnFailpointsOn();
  const before = hits();
  await step.run(fixture.context);
  const after = hits();
  turnFailpointsOff();
  await converge(fixture);
  return chargeFailpoints.flatMap((name) => {
    const times = (after.get(name) ?? 0) - (before.get(name) ?? 0);
    return Array.from({ length: times }, (_, skip) => ({ name, skip }));
  });
}

// Nobody asks again: it stands as before, or as after the step.
async function leavesAllOrNothing(
  fixture: CapturesFixture,
  { session, after }: Step,
  before: { readonly taken: readonly number[] },
): Promise<void> {
  if (session === undefined) return;
  const now = await standing(fixture, session);
  expect([before.taken, after.taken]).toContainEqual(now.taken);
  expect(now.isHeld).toBe(now.status === 'paid');
  await fixture.booksAgree(session);
}

// A context whose calls are counted; the fault of one is armed right before it is made, so that it hits this one.
function failing(fixture: CapturesFixture, fault?: FaultAt) {
  const made: Readonly<Record<FaultAt['of'], string[]>> = { calls: [], reads: [] };
  const context = fixture.contextWith((port) => {
    const watched = Object.entries(port).flatMap(([name, member]) => {
      if (typeof member !== 'function' || name === 'isDown') return [];
      const call = async (...args: unknown[]) => {
        const known = names[name];
        if (known === undefined) throw new Error(`The fault matrix has no call ${name}`);
        const of = name in writes ? 'calls' : 'reads';
        const at = made[of].push(known) - 1;
        if (fault?.of === of && fault.at === at) await fixture.fault({ call: known, kind: fault.kind, times: 1 });
        return (member as (...given: unknown[]) => unknown)(...args);
      };
      return [[name, call] as const];
    });
    return Object.fromEntries(watched) as Partial<ProcessorPort>;
  });
  return { context, made };
}

// As a client does that is told to ask again.
async function insist(fixture: CapturesFixture, { run }: Step, context: Context, first?: unknown): Promise<void> {
  let last = first;
  for (let tries = 0; tries < 5; tries += 1) {
    try {
      await run(context);
      return await converge(fixture);
    } catch (error) {
      const isOver = error instanceof Failure && error.code === 'checkout_session_already_processed';
      // A payment on the page that the sweeper has finished.
      if (isOver) return;
      if (!(error instanceof Failure) || error.row.retry !== 'same_request') throw error;
      last = error;
      await converge(fixture);
    }
  }
  throw new Error('The step was refused again and again', { cause: last });
}
