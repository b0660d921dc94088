import { completeSession } from '../src/actions/complete-session.ts';
import type { PaymentMethod } from '../src/domain/payment-method.ts';
import type { Session } from '../src/domain/session.ts';
import type { ChargingFixture } from './charging-fixture.ts';

/** Pays a session with these cards, as its shopper does on the page. */
export const pay = ({ context, scope }: ChargingFixture, session: Session, cards: PaymentMethod[]) =>
  completeSession(context, scope, {
    ...{ sessionId: session.id, paymentMethodIds: cards.map(({ id }) => id), shippingDetails: null },
  });
