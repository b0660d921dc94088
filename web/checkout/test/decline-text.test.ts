import { describe, expect, it } from 'vitest';
import { declineText } from '../src/decline-text.ts';
import { strings, stringsOf } from '../src/strings.ts';

// Stripe's codes of declines that a shopper can do something about (docs.stripe.com/declines/codes and docs.stripe.com/error-codes).
const correctable = [
  ...['incorrect_number', 'invalid_number', 'incorrect_cvc', 'invalid_cvc', 'incorrect_zip', 'postal_code_invalid'],
  ...['invalid_expiry_month', 'invalid_expiry_year', 'expired_card', 'incorrect_address', 'insufficient_funds'],
  ...['card_not_supported', 'currency_not_supported', 'card_velocity_exceeded', 'withdrawal_count_limit_exceeded'],
  ...['processing_error', 'issuer_not_available', 'reenter_transaction', 'try_again_later', 'authentication_required'],
  ...['payment_intent_authentication_failure', 'setup_intent_authentication_failure'],
  ...['live_mode_test_card', 'testmode_decline', 'test_mode_live_card'],
];
// What a bank says of these stays between it and the owner of the card.
const general = ['generic_decline', 'do_not_honor', 'fraudulent', 'pickup_card', 'stolen_card', 'merchant_blacklist'];

describe.each(Object.entries(strings))('the text of a decline, in %s [D14.374]', (_language, { failed, problems }) => {
  it.each(correctable)('of %s says what to do', (code) => {
    expect(declineText(failed, [code, 'generic'])).not.toBe(failed.generic);
  });
  it.each(general)('of %s is the general one', (code) => {
    expect(declineText(failed, [code, 'card_declined', 'generic'])).toBe(failed.generic);
  });

  it('of an amount above what a card can be charged sends to the shop, and to no other card [D14.389]', () => {
    const text = declineText(failed, [null, 'amount_too_large', 'generic']);
    expect(text).toMatch(/shop|tienda/);
    expect(text).not.toMatch(/Use another card|Usa otra tarjeta/);
  });

  it('is by the issuer’s code first, then by the error’s', () => {
    expect(declineText(failed, ['insufficient_funds', 'expired_card'])).toBe(failed.insufficient_funds);
    expect(declineText(failed, ['generic_decline', 'incorrect_cvc'])).toBe(failed.incorrect_cvc);
    expect(declineText(failed, [null, 'payment_intent_authentication_failure'])).toBe(failed.authentication_failed);
    expect(declineText(failed, [null, 'toString'])).toBeUndefined();
    expect(declineText(problems, ['other_payment_method_required'])).toBe(problems.other_payment_method_required);
  });
});

it.each(['en', 'es'] as const)('says in %s of a card that is only saved nothing of a payment [D14.374]', (language) => {
  const paying = stringsOf(language, { mode: 'payment', due_now: 100 }, false);
  expect(paying).toBe(strings[language]);
  const saving = [{ mode: 'setup', due_now: 0 } as const, { mode: 'subscription', due_now: 0 } as const];
  for (const { failed, failedTitle, notCharged } of saving.map((view) => stringsOf(language, view, false))) {
    for (const code of ['insufficient_funds', 'setup_intent_authentication_failure', 'authentication_required']) {
      const text = declineText(failed, [code]);
      expect(text).not.toBe(declineText(paying.failed, [code]));
      expect(text).toMatch(/card|tarjeta/);
      expect(text).not.toMatch(/part|pay|pago/);
    }
    expect(failed.timed_out).not.toBe(paying.failed.timed_out);
    expect(failedTitle).toBe({ en: 'The card was not saved', es: 'La tarjeta no se guardó' }[language]);
    expect(notCharged).toBe('');
  }
});

it('has each text of a refusal and of a decline in both languages', () => {
  for (const group of ['failed', 'problems', 'promoProblems', 'failedOfSetUp', 'refusals'] as const) {
    expect(Object.keys(strings.es[group]).toSorted()).toEqual(Object.keys(strings.en[group]).toSorted());
  }
});
