import { expect, test } from 'vitest';
import { newSandbox, sdk, sender } from './support.ts';

test('the official SDK creates and retrieves confirmation tokens, and confirms with one once', async () => {
  const stripe = sdk((await newSandbox()).url, 'acct_test0001');
  const { id: customer } = await stripe.customers.create({});
  const make = (token: string) =>
    stripe.testHelpers.confirmationTokens.create({
      payment_method_data: { type: 'card', card: { token } } as never,
      setup_future_usage: 'off_session',
    });
  const token = await make('tok_visa');
  expect(token).toMatchObject({
    payment_intent: null,
    setup_future_usage: 'off_session',
    payment_method_preview: { type: 'card', card: { last4: '4242' }, customer: null },
  });
  const intent = await stripe.paymentIntents.create({ amount: 1234, currency: 'usd', customer });
  const paid = await stripe.paymentIntents.confirm(intent.id, { confirmation_token: token.id });
  expect(paid).toMatchObject({ status: 'succeeded', setup_future_usage: 'off_session' });
  expect(await stripe.paymentMethods.retrieve(String(paid.payment_method))).toMatchObject({ customer });
  expect(await stripe.confirmationTokens.retrieve(token.id)).toMatchObject({
    payment_intent: intent.id,
    expires_at: null,
  });
  const second = await stripe.paymentIntents.create({ amount: 1234, currency: 'usd', customer });
  await expect(stripe.paymentIntents.confirm(second.id, { confirmation_token: token.id })).rejects.toMatchObject({
    statusCode: 400,
    param: 'confirmation_token',
  });
  const both = { confirmation_token: token.id, payment_method: 'pm_card_visa' };
  await expect(stripe.paymentIntents.confirm(second.id, both)).rejects.toMatchObject({ statusCode: 400 });
  const setUp = await stripe.setupIntents.create({ customer });
  const done = await stripe.setupIntents.confirm(setUp.id, { confirmation_token: (await make('tok_hsa')).id });
  expect(done.status).toBe('succeeded');
  expect(await stripe.paymentMethods.retrieve(String(done.payment_method))).toMatchObject({ customer });
  await expect(stripe.confirmationTokens.retrieve('ctoken_none')).rejects.toMatchObject({ statusCode: 404 });
});

test('a token that is made for another use than its intent is refused, and stays unused', async () => {
  const stripe = sdk((await newSandbox()).url, 'acct_test0001');
  const { id: customer } = await stripe.customers.create({});
  const token = await stripe.testHelpers.confirmationTokens.create({
    payment_method_data: { type: 'card', card: { token: 'tok_visa' } } as never,
    setup_future_usage: 'off_session',
  });
  const intentFor = (usage: 'on_session' | 'off_session') =>
    stripe.paymentIntents.create({ amount: 1234, currency: 'usd', customer, setup_future_usage: usage });
  const other = await intentFor('on_session');
  await expect(stripe.paymentIntents.confirm(other.id, { confirmation_token: token.id })).rejects.toMatchObject({
    ...{ statusCode: 400, param: 'confirmation_token' },
  });
  expect(await stripe.paymentIntents.retrieve(other.id)).toMatchObject({ status: 'requires_payment_method' });
  const same = await intentFor('off_session');
  expect(await stripe.paymentIntents.confirm(same.id, { confirmation_token: token.id })).toMatchObject({
    ...{ status: 'succeeded', setup_future_usage: 'off_session' },
  });
});

test('a token whose Elements were told another capture method than its intent has is refused, and stays unused [D14.400]', async () => {
  const { url } = await newSandbox();
  const stripe = sdk(url, 'acct_test0001');
  const { id } = await stripe.testHelpers.confirmationTokens.create({
    payment_method_data: { type: 'card', card: { token: 'tok_visa' } } as never,
  });
  await sender(url).witness('POST', `/sandbox/tokens/${id}/elements`, { capture_method: 'manual' });
  const intentFor = (method: 'automatic' | 'manual') =>
    stripe.paymentIntents.create({ amount: 1234, currency: 'usd', capture_method: method });
  const automatic = await intentFor('automatic');
  await expect(stripe.paymentIntents.confirm(automatic.id, { confirmation_token: id })).rejects.toMatchObject({
    ...{ statusCode: 400, param: 'capture_method' },
  });
  const manual = await intentFor('manual');
  const held = await stripe.paymentIntents.confirm(manual.id, { confirmation_token: id });
  expect(held.status).toBe('requires_capture');
});
