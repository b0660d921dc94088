import { expect, test } from 'vitest';
import { chargesOf, newIntent, newSandbox, type Sender, sender } from './support.ts';

const day = 24 * 60 * 60 * 1_000;
const manual = { capture_method: 'manual', 'payment_method_options[card][request_multicapture]': 'if_available' };

async function hold(stripe: Sender, confirmation: Record<string, string> = {}): Promise<string> {
  const id = await newIntent(stripe, manual);
  await stripe.post(`/v1/payment_intents/${id}/confirm`, confirmation);
  return id;
}
const advance = (stripe: Sender, ms: number) => stripe.witness('POST', '/sandbox/clock', { advance_ms: ms });
const intent = async (stripe: Sender, id: string) => (await stripe.get(`/v1/payment_intents/${id}`)).json;
async function heldFor(stripe: Sender, id: string): Promise<number> {
  const { json } = await stripe.get(`/v1/payment_intents/${id}?expand[]=latest_charge`);
  const charge = json.latest_charge as unknown as {
    created: number;
    payment_method_details: { card: { capture_before: number } };
  };
  return (charge.payment_method_details.card.capture_before - charge.created) / 3_600;
}

test('a hold lapses after seven days, and one without the shopper after four days and 18 hours', async () => {
  const stripe = sender((await newSandbox()).url);
  const [onSession, offSession, captured] = [
    await hold(stripe),
    await hold(stripe, { off_session: 'true' }),
    await hold(stripe),
  ];
  expect([await heldFor(stripe, onSession), await heldFor(stripe, offSession)]).toEqual([168, 114]);
  await stripe.post(`/v1/payment_intents/${captured}/capture`, {});
  await advance(stripe, 4 * day + 18 * 3_600_000);
  expect(await intent(stripe, offSession)).toMatchObject({
    ...{ status: 'canceled', cancellation_reason: 'expired', amount_capturable: 0, amount_received: 0 },
  });
  expect(await intent(stripe, onSession)).toMatchObject({ status: 'requires_capture', amount_capturable: 1_000 });
  await advance(stripe, 3 * day);
  expect((await intent(stripe, onSession)).status).toBe('canceled');
  expect((await intent(stripe, captured)).status).toBe('succeeded');
  const { data } = (await stripe.get('/v1/events?limit=100')).json;
  const types = data.map(({ type }) => type).filter((type) => /expired|canceled/.test(type));
  expect(types.sort()).toEqual([
    ...['charge.expired', 'charge.expired', 'payment_intent.canceled', 'payment_intent.canceled'],
  ]);
  const refused = await stripe.post(`/v1/payment_intents/${onSession}/capture`, {});
  expect([refused.status, refused.json.error.payment_intent.status]).toEqual([400, 'canceled']);
  // One that is made after the clock was advanced has its whole time.
  const later = await hold(stripe);
  await advance(stripe, 6 * day);
  expect((await intent(stripe, later)).status).toBe('requires_capture');
});

test('an intent of which a part was captured stands for that part', async () => {
  const stripe = sender((await newSandbox()).url);
  const id = await hold(stripe);
  await stripe.post(`/v1/payment_intents/${id}/capture`, { amount_to_capture: '300', final_capture: 'false' });
  await advance(stripe, 7 * day);
  expect(await intent(stripe, id)).toMatchObject({ status: 'succeeded', amount_received: 300, amount_capturable: 0 });
  expect(await chargesOf(stripe)).toMatchObject([{ amount_captured: 300, released: true }]);
});
