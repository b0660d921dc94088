import { type Constellation, waitUntil } from '@eligo/testkit';
import { stripeRelease } from '@eligo/web-checkout/document';
import type { Browser, BrowserContextOptions } from 'playwright-core';
import Stripe from 'stripe';
import { beforeAll, describe, expect, it } from 'vitest';
import { breakStripe, scriptThatRefuses } from '../src/browser/broken-stripe.ts';
import { formsOf, hasForm } from '../src/browser/card-canaries.ts';
import {
  answerLetterQuestions,
  type CheckoutTab,
  desktop,
  numbers,
  openCheckoutTab,
  phone,
  stopLongTimers,
} from '../src/browser/checkout-tab.ts';
import { answerForStripe, type StripeCalls } from '../src/browser/stripe-at-the-network.ts';
import { knownRelease } from '../src/browser/stripe-release.ts';
import { type Json, record, text } from '../src/records.ts';
import { runCli } from '../src/run-cli.ts';
import { make, newCustomer, openShop, type Shop } from '../src/shop.ts';

const key = 'pk_live_0123456789abcdefABCDEF';

/** The checkout page in live mode, with Stripe's card fields; Stripe.js is replaced at the network, and the processor is the sandbox. */
export function livePageTests(stack: () => { eligo: Constellation; browser: Browser; shopUrl: string }): void {
  let shop: Shop;
  const live = () => stack().eligo.api(stack().eligo.liveApiKey);
  const update = (publishableKey: string) =>
    runCli(stack().eligo, ['accounts', 'update', stack().eligo.account, '--publishable-key', publishableKey]);

  async function newSession(fields: Json = {}): Promise<{ id: string; url: string }> {
    const session = await make(live(), '/v1/checkout/sessions', 'checkout_session', {
      line_items: [
        { price: shop.eligiblePriceId, quantity: 1 },
        { price: shop.otherPriceId, quantity: 2 },
      ],
      success_url: `${stack().shopUrl}/done`,
      ...fields,
    });
    return { id: text(session, 'checkout_session_id'), url: text(session, 'redirect_url') };
  }
  const stateOf = async (id: string) =>
    record((await live().get(`/v1/checkout/sessions/${id}`)).body, 'checkout_session');
  async function open(url: string, options: BrowserContextOptions = phone): Promise<CheckoutTab> {
    return openCheckoutTab(stack().browser, url, options, (context) => answerForStripe(context, stack().eligo));
  }
  async function type(tab: CheckoutTab, slot: 'health' | 'other', number: string): Promise<void> {
    const changes = () => tab.page.evaluate<number>("stripeCalls.filter(([name]) => name === 'change').length");
    await tab.card(slot).getByLabel('Card number').waitFor();
    const before = await changes();
    await tab.card(slot).getByLabel('Card number').fill(number);
    // The frame tells the page that something was typed.
    await waitUntil(async () => (await changes()) > before);
  }

  describe('the live checkout page', () => {
    beforeAll(async () => {
      shop = await openShop(live());
      await update(key);
    });

    it('takes two cards through Stripe’s Payment Element and charges each for its part [D14.110, D14.228, D14.400]', async () => {
      const { id, url } = await newSession();
      const tab = await open(url);
      await type(tab, 'health', numbers.hsa);
      await type(tab, 'other', numbers.credit);
      await tab.inspect('live-two-cards-phone');
      // What was typed stays when the shopper chooses another language.
      for (const language of ['es', 'en']) {
        await tab.page.locator(`header button[lang=${language}]`).click();
        await tab.page.locator(`html[lang=${language}]`).waitFor({ state: 'attached' });
      }
      // Stripe's script does not wait for the page's own.
      const [stripe = 0, own = 0] = await tab.page.evaluate<number[]>(`[
        performance.getEntriesByName('https://js.stripe.com/endive/stripe.js')[0].startTime,
        performance.getEntriesByType('resource').find(({ name }) => /\\/assets\\/.*js$/.test(name)).responseEnd,
      ]`);
      expect(stripe).toBeLessThan(own);
      const calls = (await tab.page.evaluate('stripeCalls')) as StripeCalls;
      expect(calls.find(([name]) => name === 'Stripe')).toEqual(['Stripe', key, { stripeAccount: expect.any(String) }]);
      const shown = calls.flatMap(([name, options]) => (name === 'elements' ? [options] : []));
      expect(shown).toEqual([
        expect.objectContaining({
          mode: 'payment',
          amount: 4_999,
          currency: 'usd',
          captureMethod: 'manual',
          allowedPaymentMethodTypes: ['card'],
        }),
        expect.objectContaining({
          mode: 'payment',
          amount: 5_000,
          currency: 'usd',
          captureMethod: 'automatic',
          allowedPaymentMethodTypes: ['card'],
        }),
      ]);
      const updates = calls.flatMap(([name, options]) => (name === 'update' ? [options] : []));
      expect(updates.slice(-4)).toEqual(['es', 'es', 'en', 'en'].map((locale) => ({ locale })));
      const sent: string[] = [];
      tab.page.on('request', (request) => {
        if (request.url().startsWith(stack().eligo.url)) sent.push(request.postData() ?? '');
      });
      await tab.stays(stack().shopUrl);
      await tab.pay();
      await tab.says('your payment is complete');
      await tab.inspect('live-complete-phone');
      expect(sent.join(' ')).toMatch(/ctoken_\w+.*ctoken_\w+/);
      for (const number of [numbers.hsa, numbers.credit]) {
        expect(sent.filter((one) => hasForm(one, formsOf(number)))).toEqual([]);
        expect(sent.join(' ').replaceAll(/\D/g, '')).not.toContain(number.replaceAll(' ', ''));
      }
      expect(await stateOf(id)).toMatchObject({ status: 'complete', amount_received: 9_999, test_mode: false });
      const intents = (await live().get(`/v1/payment_intents?checkout_session=${id}`)).body.payment_intents as Json[];
      expect(intents.map(({ amount_received: amount }) => amount).toSorted()).toEqual([4_999, 5_000]);
      await tab.close();
    });

    it('says what is missing, that a card was declined, and takes another, in Spanish on a phone [D14.110]', async () => {
      const { id, url } = await newSession({ line_items: [{ price: shop.eligiblePriceId, quantity: 1 }] });
      const tab = await open(url, { ...phone, locale: 'es-MX', colorScheme: 'dark' });
      await tab.card('health').getByLabel('Card number').waitFor();
      const paying = tab.page.waitForRequest('**/pay');
      await tab.pay();
      await type(tab, 'health', numbers.insufficient);
      await tab.pay();
      expect((await paying).postData()).toContain('ctoken_');
      await tab.says('no tiene fondos');
      await tab.inspect('live-declined-spanish-phone');
      await type(tab, 'health', numbers.hsa);
      await tab.pay();
      await tab.says('tu pago está completo');
      expect(await stateOf(id)).toMatchObject({ status: 'complete', amount_received: 4_999 });
      await tab.close();
    });

    it('authenticates in Stripe’s window, which is opened again where it was not, and asks for another card where the shopper fails [D14.112]', async () => {
      const { id, url } = await newSession({ line_items: [{ price: shop.eligiblePriceId, quantity: 1 }] });
      const tab = await openCheckoutTab(stack().browser, url, desktop, async (context) => {
        await context.addInitScript(breakStripe, 'first_window');
        await answerForStripe(context, stack().eligo);
      });
      const bank = tab.page.frameLocator('iframe[title="Stripe 3D Secure frame"]');
      await type(tab, 'health', numbers.authentication);
      await tab.pay();
      await tab.says('Confirm with your bank');
      await tab.says('Your bank’s window could not be opened');
      await tab.inspect('live-bank-failed-desktop');
      await tab.page.getByRole('button', { name: 'Open your bank’s window again' }).click();
      await bank.getByText('Fail').click();
      await tab.says('could not confirm that this payment is yours');
      await type(tab, 'health', numbers.authentication);
      await tab.pay();
      await bank.getByText('Complete').waitFor();
      await tab.inspect('live-bank-desktop');
      expect(await stateOf(id)).toMatchObject({ status: 'open', amount_received: 0 });
      await bank.getByText('Complete').click();
      await tab.says('your payment is complete');
      expect(await stateOf(id)).toMatchObject({ status: 'complete', amount_received: 4_999 });
      await tab.close();
    });

    it('saves a card in setup mode for charges without the shopper [D14.111]', async () => {
      const customer = await newCustomer(live());
      const { id, url } = await newSession({ mode: 'setup', customer, line_items: [] });
      const tab = await open(url);
      await type(tab, 'health', numbers.hsa);
      const calls = (await tab.page.evaluate('stripeCalls')) as StripeCalls;
      expect(calls).toContainEqual([
        'elements',
        expect.objectContaining({ mode: 'setup', setupFutureUsage: 'off_session' }),
      ]);
      await tab.pay();
      await tab.says('Your payment details are saved');
      expect(await stateOf(id)).toMatchObject({ status: 'complete' });
      const { body } = await live().get(`/v1/customers/${customer}/payment_methods`);
      expect(body.payment_methods).toMatchObject([{ customer, off_session: true, card: { last4: '0072' } }]);
      await tab.close();
    });

    it('holds both cards for a letter, which no key decides; a reviewer’s approval captures them [D14.76, D14.79, D14.400]', async () => {
      const product = { name: 'Massage gun', hsa_fsa_eligibility: 'letter_of_medical_necessity' };
      const { id, url } = await newSession({
        line_items: [
          { price_data: { unit_amount: 9_000, product_data: product }, quantity: 1 },
          { price: shop.otherPriceId, quantity: 1 },
        ],
      });
      const tab = await open(url, desktop);
      await type(tab, 'health', numbers.hsa);
      await type(tab, 'other', numbers.credit);
      await tab.inspect('live-letter-desktop');
      await tab.pay();
      await answerLetterQuestions(tab);
      await tab.says('once your letter of medical necessity is approved');
      expect(await stateOf(id)).toMatchObject({ status: 'paid', amount_received: 0, test_mode: false });
      const { letters } = (await live().ok('GET', `/v1/letters?checkout_session=${id}`)) as { letters: Json[] };
      const letter = text(letters[0] ?? {}, 'letter_id');
      expect((await live().post(`/v1/test_helpers/letters/${letter}/approve`)).status).not.toBe(200);
      const { eligo } = stack();
      const reviewer = ['--name', 'Grace Hopper', '--license', 'A-1906', '--state', 'NY'];
      const { credential } = await runCli(eligo, ['reviewers', 'add', ...reviewer]);
      const review = await runCli(eligo, ['letters', 'approve', letter], {
        ...{ ELIGO_CHECKOUT_ADMIN: eligo.adminOf('checkout'), ELIGO_OPERATOR_KEY: eligo.operatorKey },
        ELIGO_REVIEWER_CREDENTIAL: String(credential),
      });
      expect(review).toMatchObject({ status: 'approved' });
      await waitUntil(async () => (await stateOf(id)).status === 'complete', { withinMs: 20_000, what: 'the capture' });
      expect(await stateOf(id)).toMatchObject({ amount_received: 11_500 });
      // As the page does by itself every ten seconds.
      await tab.page.evaluate("dispatchEvent(new Event('online'))");
      await tab.says('your payment is complete');
      await tab.close();
    });

    it('says that the fields do not load, and without a processor that the shop takes no cards [D14.110]', async () => {
      const { url } = await newSession();
      const tab = await openCheckoutTab(stack().browser, url, phone, (context) =>
        context.route('https://js.stripe.com/**', (route) => route.abort()),
      );
      await tab.says('The card fields could not be loaded');
      await tab.inspect('live-fields-phone');
      await tab.page.route(url, async (route) => {
        const response = await route.fetch();
        const body = (await response.text()).replace(/"card_fields":\{[^}]*\}/, '"card_fields":null');
        await route.fulfill({ response, body });
      });
      await tab.page.reload();
      await tab.says('Card payments are not set up for this shop');
      await tab.inspect('live-phone');
      await tab.close();
    });

    it.each([
      ['session', 'phone', {}],
      ['set-up', 'desktop', { mode: 'setup' }],
    ])(
      'says at once that a %s cannot be paid where Stripe.js refuses what the page asks of it [D14.372]',
      async (what, device, fields) => {
        const given = what === 'session' ? fields : { ...fields, customer: await newCustomer(live()), line_items: [] };
        const { url } = await newSession(given);
        const tab = await openCheckoutTab(
          stack().browser,
          url,
          device === 'phone' ? phone : desktop,
          async (context) => {
            await answerForStripe(context, stack().eligo);
            // A release that no longer takes what the page gives.
            await context.route('https://js.stripe.com/*/stripe.js', (route) =>
              route.fulfill({ contentType: 'text/javascript', body: scriptThatRefuses }),
            );
            await context.addInitScript(stopLongTimers);
          },
        );
        await tab.says('This page cannot accept cards right now. Contact the shop.');
        expect(await tab.page.getByText('Check your connection').count()).toBe(0);
        await tab.pay();
        await tab.page.locator('form > [role=alert]').getByText('This page cannot accept cards right now').waitFor();
        await tab.inspect(`live-fields-broken-${what === 'session' ? 'phone' : 'desktop'}`);
        // The browser's console says why.
        await expect(tab.close()).rejects.toThrow('paymentMethodTypes is not an accepted parameter');
      },
    );

    it.each([
      ['throws', 'This page cannot accept cards right now. Contact the shop.'],
      ['authentication_error', 'This page cannot accept cards right now. Contact the shop.'],
      ['invalid_request_error', 'This page cannot accept cards right now. Contact the shop.'],
      ['card_error', 'This card cannot be used here. Use another card.'],
      ['api_connection_error', 'Check your connection and try again.'],
    ])(
      'says what Stripe.js answers in place of a confirmation token, and takes the next try: %s [D14.372]',
      async (how, said) => {
        const { url } = await newSession({ line_items: [{ price: shop.eligiblePriceId, quantity: 1 }] });
        const tab = await openCheckoutTab(stack().browser, url, phone, async (context) => {
          await context.addInitScript(breakStripe, how);
          await answerForStripe(context, stack().eligo);
        });
        await type(tab, 'health', numbers.hsa);
        await tab.pay();
        await tab.says(said);
        await tab.page.locator('button.pay[aria-disabled=false]').waitFor();
        if (how === 'card_error') await tab.inspect('live-card-refused-phone');
        if (how === 'api_connection_error') await tab.inspect('live-card-not-sent-desktop');
        if (how === 'throws') await expect(tab.close()).rejects.toThrow('elements is not of this Stripe');
        else await tab.close();
      },
    );

    it('loads the release of Stripe.js that the tests and the processor know [D14.372]', () => {
      expect(stripeRelease).toBe(knownRelease);
      expect(stripeRelease).toBe(Stripe.MAJOR_API_VERSION);
    });

    it('refuses in its stand-in for Stripe.js what the release does not take [D14.372]', async () => {
      const { url } = await newSession();
      const tab = await open(url);
      await tab.card('health').getByLabel('Card number').waitFor();
      const tryOut = (call: string) =>
        tab.page.evaluate<string>(`Promise.resolve().then(() => { ${call} }).then(() => 'taken', String)`);
      const elements = (options: string) =>
        `Stripe('${key}', {}).elements({ mode: 'payment', amount: 100, currency: 'usd', ${options} })`;
      expect(await tryOut(elements("paymentMethodTypes: ['card']"))).toContain('paymentMethodTypes is not an accepted');
      expect(await tryOut(elements("payment_method_types: ['card']"))).toContain('is not an accepted parameter');
      expect(await tryOut(elements('amount: 0'))).toContain('amount should not be 0');
      expect(await tryOut(elements("appearance: { theme: 'dark' }"))).toContain('theme should not be "dark"');
      expect(await tryOut(`${elements('')}.update({ paymentMethodTypes: ['card'] })`)).toContain('not an accepted');
      expect(await tryOut(`${elements('')}.create('card', {})`)).toContain('A valid Element name');
      expect(await tryOut(`${elements('')}.create('payment', { wallets: { link: 'no' } })`)).toContain('should not be');
      expect(await tryOut(`return Stripe('${key}', {}).handleNextAction({ client_secret: 'x' })`)).toContain(
        'not an accepted',
      );
      expect(await tryOut(elements("allowedPaymentMethodTypes: ['card']"))).toBe('taken');
      expect(
        await tryOut(`return Stripe('${key}', {}).createConfirmationToken({ elements: ${elements('')} })`),
      ).toContain('elements.submit() must be called before');
      await tab.close();
    });

    it('offers no health card where the account takes none, and says so: the other card pays everything [D14.72]', async () => {
      const { eligo, browser } = stack();
      const state = (...given: string[]) => runCli(eligo, ['accounts', 'update', eligo.account, ...given]);
      await state('--substantiation', 'none');
      const { id, url } = await newSession();
      const tab = await open(url);
      await tab.says('This shop does not take HSA or FSA cards');
      await tab.card('other').getByLabel('Card number').waitFor();
      expect(await tab.page.getByRole('radio').count()).toBe(0);
      await tab.inspect('live-no-health-cards-phone');
      const spanish = await openCheckoutTab(browser, url, { ...desktop, locale: 'es-MX' }, (context) =>
        answerForStripe(context, eligo),
      );
      await spanish.says('Esta tienda no acepta tarjetas HSA o FSA');
      await spanish.inspect('live-no-health-cards-spanish-desktop');
      await spanish.close();
      await type(tab, 'other', numbers.credit);
      await tab.pay();
      await tab.says('your payment is complete');
      expect(await stateOf(id)).toMatchObject({ status: 'complete', amount_received: 9_999 });
      await state('--substantiation', 'iias');
      await tab.close();
    });

    it('says that the fields do not load where Stripe’s script hangs [D14.110]', async () => {
      const { url } = await newSession();
      const tab = await openCheckoutTab(stack().browser, 'about:blank', phone, async (context) => {
        await context.clock.install();
        await context.route('https://js.stripe.com/**', () => undefined);
      });
      // It is loaded whole only once the script is.
      await tab.page.goto(url, { waitUntil: 'commit' });
      await tab.says('Loading the card fields');
      await tab.pay();
      await tab.page.locator('form > [role=alert]').getByText('Loading the card fields').waitFor();
      await tab.page.clock.fastForward(20_000);
      await tab.page.locator('form > [role=alert]').getByText('The card fields could not be loaded').waitFor();
      await tab.close();
    });

    it('refuses a key of test mode for live fields [D14.110]', async () => {
      await expect(update('pk_test_0123456789abcdefABCDEF')).rejects.toThrow('This is a test key');
    });
  });
}
