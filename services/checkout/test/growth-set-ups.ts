import { captureSession } from '../src/actions/capture-session.ts';
import { completeWithCards } from '../src/actions/complete-with-cards.ts';
import { resumeAuthentication } from '../src/actions/resume-authentication.ts';
import type { ChargingFixture } from './charging-fixture.ts';
import { line } from './fixture.ts';
import { keyHash } from './growth-seed.ts';
import { pay } from './pay.ts';

/** Runs every statement of payments with cards that were typed on the page, and of a capture of one card. */
export async function exercisePagePayments(fixture: ChargingFixture): Promise<void> {
  const { context, scope } = fixture;
  const lines = [line({ unitAmount: 4_000, class: 'auto_substantiation' }), line({ unitAmount: 6_000 })];
  const tokens = { hsa: 'tok_hsa', visa: 'tok_visa' };
  for (const second of [undefined, tokens.visa]) {
    const session = await fixture.session({ lines });
    const paid = await completeWithCards(context, scope, {
      ...{ sessionId: session.id, shippingDetails: null, refusesHealthCards: false, onPage: true },
      paymentMethod: await fixture.confirmationToken(second === undefined ? tokens.visa : tokens.hsa),
      slot: second === undefined ? 'other' : 'health',
      secondPaymentMethod: second && (await fixture.confirmationToken(second)),
      secondSlot: 'other',
    });
    if (paid.status !== 'complete') throw new Error(`the session is ${paid.status}`);
  }
  const held = await fixture.session({ lines, captureMethod: 'manual' });
  await pay(fixture, held, [await fixture.card('credit')]);
  const order = { instruction: { entries: [], isFinal: false }, metadata: {} };
  await captureSession(context, scope, held.id, { ...order, key: { key: 'key of one card', requestHash: keyHash } });
}

/** Runs every statement of a set-up whose bank asks the shopper. */
export async function exerciseSetUps(fixture: ChargingFixture): Promise<void> {
  const { context, scope } = fixture;
  const { customerId } = await fixture.card('credit');
  const asked = await fixture.session({ mode: 'setup', lines: [], customerId });
  await completeWithCards(context, scope, {
    ...{ sessionId: asked.id, paymentMethod: await fixture.confirmationToken('tok_authenticationRequired') },
    ...{ secondPaymentMethod: undefined, onPage: true, shippingDetails: null, refusesHealthCards: false },
  });
  await resumeAuthentication(context, scope, asked.id, true);
}
