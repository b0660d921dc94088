import { completeWithCards } from '../src/actions/complete-with-cards.ts';
import { resumeAuthentication } from '../src/actions/resume-authentication.ts';
import type { ChargingFixture } from './charging-fixture.ts';

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
