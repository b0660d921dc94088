import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { PageView } from '@eligo/contract';
import type { Browser } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import {
  type CheckoutTab,
  desktop,
  numbers,
  openCheckoutTab,
  phone,
  stopLongTimers,
} from '../src/browser/checkout-tab.ts';
import type { Json } from '../src/records.ts';

interface Place {
  readonly browser: Browser;
  newSession(fields?: Json): Promise<{ id: string; url: string }>;
}

/**
 * States of the page that no other test inspects, as the gateway would tell them: what differs from an open mixed cart, and what the page then says. The layouts are
 * inspected on a phone or on a desktop, and with `ELIGO_TEST_LONG=on` on both.
 */
const told: Readonly<Record<string, { readonly patch: Partial<PageView>; readonly says: string }>> = {
  'no-card-fields-phone': { patch: { card_fields: null }, says: 'Card payments are not set up for this shop yet' },
  'nothing-due-phone': { patch: free(), says: 'Place order' },
  'health-part-too-small-phone': {
    patch: { health_card_amount: 0, other_card_amount: 11_773 },
    says: 'The eligible or the remaining part is under $0.50',
  },
  'health-card-pays-nothing-desktop': {
    patch: { health_card_amount: 0, other_card_amount: 11_773, lines: nothingEligible() },
    says: 'An HSA or FSA card cannot pay for anything in this order',
  },
  'held-later-phone': { patch: { manual_capture: true }, says: 'Authorize' },
  'second-card-for-trial-phone': { patch: trialWithoutSecondCard(), says: 'Add another card for the remaining' },
  'other-card-needed-phone': {
    patch: { next_action: otherCard() },
    says: 'An HSA or FSA card cannot pay for this order',
  },
  'letter-denied-for-some-desktop': {
    patch: { next_action: otherCard(), letter_denied: true },
    says: 'the items that are still eligible',
  },
  'timed-out-phone': { patch: { next_action: failed(null) }, says: 'The payment took too long' },
  'lost-card-desktop': { patch: { next_action: failed('lost_card') }, says: 'The bank declined the card' },
  'wrong-cvc-desktop': {
    patch: { next_action: failed('incorrect_cvc') },
    says: 'The security code of the card is not right. Check it and try again, or use another card. No card was charged.',
  },
  'released-phone': {
    patch: { next_action: failed(null, 'other_payment_method_required') },
    says: 'An HSA or FSA card cannot pay for the items that are not eligible',
  },
  'still-working-phone': { patch: { payment_in_flight: true }, says: 'Your payment is taking longer than usual' },
  'setup-working-phone': { patch: { payment_in_flight: true, mode: 'setup' }, says: 'Do not close this page' },
  'setup-still-working-desktop': {
    patch: { payment_in_flight: true, mode: 'setup' },
    says: 'Saving your card is taking longer than usual',
  },
  'setup-canceled-desktop': { patch: { state: 'canceled', mode: 'setup' }, says: 'You left without saving a card' },
  'authorized-phone': { patch: { state: 'complete', manual_capture: true }, says: 'your payment is authorized' },
  'partly-captured-phone': {
    patch: { state: 'complete', manual_capture: true, amount_captured: 5_000 },
    says: 'The shop has charged $50.00 so far',
  },
  'captured-less-desktop': {
    patch: { state: 'complete', amount_captured: 5_000 },
    says: 'The shop charged $50.00 of the total',
  },
  'after-submit-desktop': { patch: { state: 'complete', ...afterSubmit() }, says: 'We ship on Monday' },
  'saved-phone': { patch: { state: 'complete', mode: 'setup' }, says: 'Your payment details are saved' },
  'trial-begun-phone': {
    patch: { state: 'complete', due_now: 0, trial_end: 1_900_000_000 },
    says: 'Your free trial has begun',
  },
  'letter-of-held-order-phone': {
    patch: { state: 'letter_pending', manual_capture: true },
    says: 'The shop can charge your card once your letter',
  },
  'letter-elsewhere-desktop': {
    patch: { state: 'letter_pending', ...letterElsewhere() },
    says: 'Continue with your letter',
  },
  'email-of-subscriber-desktop': {
    patch: { collects_email: true, mode: 'subscription' },
    says: 'Messages about your payments are sent here',
  },
};

/** Each state of the page, by the source that shows it, and the names under which the tests inspect it. */
const states: Readonly<Record<string, readonly string[]>> = {
  'pay-form: one card': ['hsa-phone', 'live-phone'],
  'pay-form: two cards': ['two-cards-desktop', 'live-two-cards-phone', 'spanish-dark-desktop'],
  'pay-form: reimbursement': ['reimbursement-phone'],
  'pay-form: trial': ['trial-phone'],
  'pay-form: save cards': ['setup-phone', 'setup-both-phone'],
  'pay-form: no health cards taken': ['live-no-health-cards-phone', 'live-no-health-cards-spanish-desktop'],
  'pay-form: a health card pays nothing': ['health-card-pays-nothing-desktop'],
  'pay-form: the eligible part is too small': ['health-part-too-small-phone'],
  'pay-form: nothing due': ['nothing-due-phone'],
  'pay-form: held for a letter': ['live-letter-desktop', 'letter-held-phone', 'letter-spanish-dark-desktop'],
  'pay-form: held for the shop': ['held-later-phone'],
  'pay-form: an invoice': ['invoice-phone', 'invoice-desktop-dark'],
  'pay-form: address and terms, with what is missing': ['address-phone', 'address-abroad-phone', 'terms-missing-phone'],
  'pay-form: e-mail address': ['email-wrong-phone', 'email-spanish-desktop', 'email-address-phone'],
  'pay-form: e-mail address of a subscriber': ['email-of-subscriber-desktop'],
  'pay-form: cards cannot be taken': ['no-card-fields-phone'],
  'card fields: loading': ['fields-loading-phone'],
  'card fields: failed': ['live-fields-phone'],
  'card fields: broken': ['live-fields-broken-phone', 'live-fields-broken-desktop'],
  'card fields: what is wrong': ['wrong-number-phone', 'live-card-refused-phone', 'live-card-not-sent-desktop'],
  'promo-code: refused, entered, removed': ['promo-refused-phone', 'promo-phone', 'promo-changed-desktop'],
  'cancel-order: asked': ['cancel-phone', 'setup-cancel-phone'],
  'status: loading': ['loading-phone'],
  'status: a code is checked': ['pricing-phone'],
  'status: working': ['working-phone', 'setup-working-phone'],
  'status: still working': ['still-working-phone', 'setup-still-working-desktop'],
  'status: no connection': ['offline-desktop'],
  'notice: second card': ['second-card-phone'],
  'notice: short card': ['short-card-phone', 'short-card-desktop'],
  'notice: second card for a trial': ['second-card-for-trial-phone'],
  'notice: another card': ['other-card-needed-phone'],
  'notice: letter denied': ['letter-denied-phone'],
  'notice: letter denied for some': ['letter-denied-for-some-desktop'],
  'notice: declined': ['declined-phone', 'lost-card-desktop', 'live-declined-spanish-phone', 'invoice-declined-phone'],
  'notice: declined for what a shopper can correct': ['wrong-cvc-desktop'],
  'notice: released': ['released-phone'],
  'notice: a health card as the second card': ['second-health-card-phone'],
  'notice: timed out': ['timed-out-phone'],
  'notice: request lost': ['lost-phone'],
  'authentication: asked': ['bank-phone', 'bank-desktop', 'bank-saved-phone', 'live-bank-desktop'],
  'authentication: the window did not open': ['live-bank-failed-desktop'],
  'authentication: refused': ['bank-refused-desktop', 'bank-refused-saved-phone'],
  'letter-form: questions': ['letter-questions-phone'],
  'letter-form: what is missing': ['letter-missing-phone'],
  'letter-form: not sent': ['letter-not-sent-phone'],
  'outcome: complete': ['complete-phone', 'complete-spanish-dark-desktop', 'live-complete-phone', 'invoice-paid-phone'],
  'outcome: message of the shop': ['after-submit-desktop', 'message-of-shop-phone'],
  'outcome: authorized': ['authorized-phone'],
  'outcome: partly captured, and captured for less': ['partly-captured-phone', 'captured-less-desktop'],
  'outcome: saved': ['saved-phone'],
  'outcome: trial': ['trial-begun-phone'],
  'outcome: letter pending': ['letter-answered-phone', 'letter-of-held-order-phone', 'letter-elsewhere-desktop'],
  'outcome: canceled': ['canceled-phone', 'setup-canceled-desktop', 'invoice-void-phone'],
  'outcome: expired': ['expired-phone'],
  'refused: not there': ['missing-phone'],
  'refused: link inactive': ['link-inactive-phone'],
  'refused: not loaded': ['not-loaded-desktop'],
};

const readings = join(import.meta.dirname, 'read-aloud');

/** The checkout page in each of its states. */
export function pageStateTests(place: () => Place): void {
  /** A tab with the page of an open session, to which the gateway seems to tell something else. Its card fields are the sandbox's. */
  async function openTold(name: string, patch: Partial<PageView>): Promise<CheckoutTab> {
    const { url } = await place().newSession();
    const options = name.endsWith('desktop') ? desktop : phone;
    const tab = await openCheckoutTab(place().browser, url, options, async (context) => {
      await context.addInitScript(patchViews, patch as Record<string, unknown>);
      // A page that is at work says after a while that it takes long.
      if (name === 'setup-working-phone') await context.addInitScript(stopLongTimers);
    });
    // A document never says that a payment is under way: its script asks.
    if (patch.payment_in_flight) await tab.page.evaluate("dispatchEvent(new Event('online'))");
    return tab;
  }

  describe('the checkout page, by axe, by what a screen reader reads and by a screenshot', () => {
    it.each(Object.entries(told))('is inspected as %s [D14.82, D14.366]', async (name, { patch, says }) => {
      const tab = await openTold(name, patch);
      await tab.says(says);
      await tab.inspect(name);
      await tab.close();
    });

    it('is inspected while the order loads [D14.82, D14.366]', async () => {
      const { url } = await place().newSession();
      const isInspected = Promise.withResolvers<void>();
      const tab = await openCheckoutTab(place().browser, url, phone, async (context) => {
        // A document without the session in it, whose script asks for it.
        await context.route(url, async (route) => {
          const response = await route.fetch();
          const body = (await response.text()).replace(/<script type="application\/json"[\s\S]*?<\/script>/, '');
          await route.fulfill({ response, body });
        });
        await context.route('**/session', async (route) => {
          await isInspected.promise;
          await route.continue();
        });
      });
      await tab.says('Loading your order…');
      await tab.inspect('loading-phone');
      isInspected.resolve();
      await tab.says('Pay $117.73');
      await tab.close();
    });

    it('is inspected while the card fields load [D14.82, D14.366]', async () => {
      const { url } = await place().newSession();
      const tab = await openCheckoutTab(place().browser, url, phone, (context) =>
        // A document that never says that its fields are there.
        context.route('**/fields/card*', (route) =>
          route.fulfill({ contentType: 'text/html', body: documentOfFields }),
        ),
      );
      await tab.pay();
      await tab.says('Loading the card fields');
      await tab.inspect('fields-loading-phone');
      await tab.context.unrouteAll({ behavior: 'ignoreErrors' });
      await tab.close();
    });

    it('is inspected with the terms missing [D14.82, D14.366]', async () => {
      const { url } = await place().newSession({ custom_text: { terms_of_service_checkbox_required: true } });
      const tab = await openCheckoutTab(place().browser, url);
      await tab.type('health', numbers.hsa);
      await tab.type('other', numbers.credit);
      await tab.pay();
      await tab.says('Accept the terms to continue');
      expect(await tab.page.getByRole('checkbox').getAttribute('required')).not.toBeNull();
      await tab.inspect('terms-missing-phone');
      await tab.close();
    });

    it('is inspected without a connection [D14.82, D14.366]', async () => {
      const { url } = await place().newSession();
      const tab = await openCheckoutTab(place().browser, url, desktop);
      await tab.context.route('**/session', (route) => route.abort());
      await tab.page.evaluate("dispatchEvent(new Event('online'))");
      await tab.says('No connection');
      await tab.inspect('offline-desktop');
      await tab.context.unrouteAll({ behavior: 'ignoreErrors' });
      await tab.close();
    });

    it('is inspected in every one of its states [D14.366]', () => {
      const missing = Object.values(states)
        .flat()
        .filter((name) => !existsSync(join(readings, `${name}.txt`)));
      expect(missing).toEqual([]);
      const listed = new Set(Object.values(states).flat());
      expect(Object.keys(told).filter((name) => !listed.has(name))).toEqual([]);
    });
  });
}

const documentOfFields = '<!doctype html><html lang="en" data-one-language><title>Card</title></html>';

// Runs in the browser, before the page's script. Both ways by which a view comes: in the document, and as an answer.
function patchViews(patch: Record<string, unknown>): void {
  const told = (value: unknown) =>
    typeof value === 'object' && value !== null && 'card_fields' in value ? { ...value, ...patch } : value;
  const { parse } = JSON;
  JSON.parse = (...text) => told(parse(...text));
  const { json } = Response.prototype;
  Object.assign(Response.prototype, {
    async json(this: Response): Promise<unknown> {
      return told(await json.call(this));
    },
  });
}

function free(): Partial<PageView> {
  const totals = { subtotal: 9_999, discount: 9_999, shipping: 0, tax: 0, fees: 0, total: 0 };
  return { due_now: 0, health_card_amount: 0, other_card_amount: 0, totals };
}

function nothingEligible(): PageView['lines'] {
  const amounts = { amount_subtotal: 9_999, amount_eligible: 0 };
  return [{ description: 'Bath towel', quantity: 2, ...amounts, eligibility: 'not_eligible', recurring: null }];
}

function trialWithoutSecondCard(): Partial<PageView> {
  const amounts = { eligible_amount: 5_885, ineligible_amount: 5_888 };
  return {
    ...{ mode: 'subscription', due_now: 0, trial_end: 1_900_000_000 },
    ...{ health_card_amount: 0, other_card_amount: 0 },
    first_renewal: { health_card_amount: 5_885, other_card_amount: 5_888 },
    next_action: {
      type: 'provide_second_payment_method',
      provide_second_payment_method: { message: null, url: null, ...amounts },
    },
  };
}

function otherCard(): PageView['next_action'] {
  return {
    type: 'provide_alternative_payment_method',
    provide_alternative_payment_method: { message: null, url: null },
  };
}

function failed(
  code: string | null,
  error: string | null = code === null ? null : 'card_declined',
): PageView['next_action'] {
  return {
    type: 'payment_failed',
    payment_failed: { message: null, url: null, decline_code: code, error_code: error },
  };
}

function letterElsewhere(): Partial<PageView> {
  return {
    next_action: {
      type: 'collect_letter_of_medical_necessity',
      collect_letter_of_medical_necessity: { url: 'https://letters.example/1' },
    },
  };
}

function afterSubmit(): Partial<PageView> {
  const none = { message: null };
  return {
    custom_text: {
      ...{ after_submit: { message: 'We ship on Monday.' }, shipping_address: none, submit: none, payment: none },
      ...{ terms_of_service_acceptance: none, terms_of_service_checkbox_required: false },
    },
  };
}
