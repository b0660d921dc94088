import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { CheckoutPageSchema, CheckoutSessionSchema } from '@eligo/proto/checkout/v1/checkout';
import { expect, test } from 'vitest';
import { renderPage } from '../src/index.ts';
import { sampleMessages } from '../test-support/sample-messages.ts';

const { checkout_session: sample } = sampleMessages();
const shop = { name: 'Care', logoUrl: null, accentColor: null, shippingCountries: ['US'], publishableKey: 'pk_live_1' };

function pageOf(parts: MessageInitShape<typeof CheckoutSessionSchema>) {
  const { nextAction: _action, ...session } = sample;
  const fields = { ...session, letterOfMedicalNecessityRequired: true, ...parts };
  const message = create(CheckoutSessionSchema, fields as MessageInitShape<typeof CheckoutSessionSchema>);
  return renderPage(create(CheckoutPageSchema, { session: message, processor: 'stripe' }), shop, undefined);
}

test.each([
  ['nothing yet', 'paid', 0n, { manual_capture: true, amount_captured: 0 }],
  ['a part', 'paid', 2_000n, { manual_capture: true, amount_captured: 2_000 }],
  ['everything', 'complete', 5_000n, { manual_capture: false, amount_captured: 5_000 }],
  ['a part, and voided the remaining holds', 'complete', 2_000n, { manual_capture: false, amount_captured: 2_000 }],
])('a page whose shop captured %s says what was charged [D14.82]', (_what, status, amountReceivedCents, shown) => {
  expect(pageOf({ captureMethod: 'manual', status, amountReceivedCents })).toMatchObject({
    state: 'complete',
    ...shown,
  });
  const automatic = { captureMethod: 'automatic', status: 'complete', amountReceivedCents };
  expect(pageOf(automatic)).toMatchObject({ manual_capture: false, amount_captured: null });
});

test('a paid page awaits a letter only while the session asks for one, whoever captures [D14.76]', () => {
  const collect = { type: 'collect_letter_of_medical_necessity', url: 'https://pay.example/pay/1' };
  for (const captureMethod of ['manual', 'automatic']) {
    const paid = { status: 'paid', captureMethod };
    expect(pageOf({ ...paid, nextAction: collect }).state).toBe('letter_pending');
    // All letters are approved, or an ordinary card pays everything and none was opened.
    const done = { state: 'complete', letter_required: true, manual_capture: captureMethod === 'manual' };
    expect(pageOf(paid)).toMatchObject(done);
  }
});

test.each([
  ['payment', 'on_session', false, true],
  ['payment', 'off_session', false, false],
  // The review of a letter may outlast the hold.
  ['payment', 'on_session', true, false],
  ['reimbursement', 'on_session', true, true],
  ['subscription', 'on_session', false, false],
])(
  'the card fields of a %s keep a card by setup_future_use as the intent does: %s, a letter needed: %s [D14.307]',
  (mode, setupFutureUse, letter, isOnSessionOnly) => {
    const parts = { mode, setupFutureUse, letterOfMedicalNecessityRequired: letter, testMode: false };
    const kept = { kind: 'stripe', keeps_card: true, on_session_only: isOnSessionOnly };
    expect(pageOf(parts).card_fields).toMatchObject(kept);
  },
);
