import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { CheckoutPageSchema, CheckoutSessionSchema } from '@eligo/proto/checkout/v1/checkout';
import { expect, test } from 'vitest';
import { renderPage } from '../src/index.ts';
import { sampleMessages } from '../test-support/sample-messages.ts';

const { checkout_session: sample } = sampleMessages();
const shop = { name: 'Care', logoUrl: null, accentColor: null, shippingCountries: ['US'], publishableKey: null };

function pageOf(parts: MessageInitShape<typeof CheckoutSessionSchema>) {
  const { nextAction: _action, ...session } = sample;
  const fields = { ...session, letterOfMedicalNecessityRequired: true, ...parts };
  const message = create(CheckoutSessionSchema, fields as MessageInitShape<typeof CheckoutSessionSchema>);
  return renderPage(create(CheckoutPageSchema, { session: message }), shop, undefined);
}

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
