import { withTx } from '@eligo/postgres';
import { seededId } from '@eligo/testkit';
import { cents, newId } from '@eligo/values';
import { capturePaymentIntent, captureSession } from '../src/actions/capture-session.ts';
import { carryOutCapture } from '../src/actions/carry-out-capture.ts';
import { completeSession } from '../src/actions/complete-session.ts';
import { previewCapture } from '../src/actions/preview-capture.ts';
import { planCapture, writeCapture } from '../src/actions/request-capture.ts';
import { allHeld } from '../src/domain/capture-allocation.ts';
import { findCaptureRecord, findCaptureRecords, listCaptures } from '../src/store/capture-records.ts';
import { loadSession, lockSession } from '../src/store/sessions.ts';
import type { ChargingFixture } from './charging-fixture.ts';
import { keyHash } from './growth-seed.ts';
import { pay } from './pay.ts';

/** Runs every statement of captures: two cards, captured; and of two others the first, or the second, is gone by then. */
export async function exerciseCaptures(fixture: ChargingFixture): Promise<void> {
  const { context, database, scope } = fixture;
  for (const gone of [undefined, 'health', 'other'] as const) {
    const [hsa, credit] = await Promise.all([fixture.card('hsa'), fixture.card('credit')]);
    const session = await fixture.mixedSession(hsa, { captureMethod: 'manual' });
    await pay(fixture, session, [hsa, credit]);
    if (gone !== undefined) await fixture.cancelAtProcessor(session, gone);
    const id = newId('capture');
    const operation = await withTx(database, scope, async (tx) => {
      const held = await lockSession(tx, scope, session.id);
      if (held === undefined) throw new Error('the session is gone');
      const request = { session: held, cause: 'letter', instruction: allHeld, at: new Date() } as const;
      const { allocation } = await planCapture(tx, scope, request);
      return writeCapture(tx, scope, request, allocation, { id, leaseMs: 4_000 });
    });
    if (operation === undefined) throw new Error('nothing is captured');
    await carryOutCapture(context, scope, operation, performance.now() + 4_000);
    await findCaptureRecord(database, scope, id);
    await findCaptureRecords(database, scope, [id, seededId('fcap', 1)]);
  }
  await payInPart(fixture);
  const cards = await Promise.all([fixture.card('hsa'), fixture.card('credit')]);
  const session = await fixture.mixedSession(cards[0], { captureMethod: 'manual' });
  await pay(fixture, session, cards);
  const instruction = { entries: [], isFinal: false };
  const part = { instruction: { ...instruction, amount: cents(1_000) }, metadata: {} };
  await previewCapture(context, scope, session.id, part.instruction);
  await captureSession(context, scope, session.id, { ...part, key: { key: 'key 21', requestHash: keyHash } });
  await captureSession(context, scope, session.id, { ...part, key: undefined });
  const [first = ''] = session.paymentIntentIds.concat(
    (await loadSession(database, scope, session.id))?.paymentIntentIds ?? [],
  );
  await capturePaymentIntent(context, scope, first, {
    instruction: { ...instruction, isFinal: true },
    metadata: {},
    key: undefined,
  });
  for (const filter of [{}, { sessionId: seededId('fcs', 1) }, { paymentIntentId: seededId('fpi', 1) }]) {
    await listCaptures(database, scope, { limit: 10 }, filter);
    await listCaptures(database, scope, { limit: 10, startingAfter: seededId('fcap', 500) }, filter);
  }
}

// A health card that is approved for a part, and another one for the rest.
async function payInPart({ context, scope, ...fixture }: ChargingFixture): Promise<void> {
  const cards = await Promise.all([fixture.card('hsa_short'), fixture.card('credit')]);
  const { id: sessionId } = await fixture.mixedSession(cards[0]);
  for (const { id } of cards) {
    await completeSession(context, scope, {
      sessionId,
      paymentMethodIds: [id],
      shippingDetails: null,
      acceptsPart: true,
    });
  }
}
