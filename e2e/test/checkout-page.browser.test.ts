import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Constellation, startConstellation, waitUntil } from '@eligo/testkit';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { stopWithBooks } from '../src/books.ts';
import { formsOf, hasForm, logsOf, messagesOf, placesWith } from '../src/browser/card-canaries.ts';
import { type CheckoutTab, desktop, numbers, openCheckoutTab, openTabIn, phone } from '../src/browser/checkout-tab.ts';
import { launchChromium } from '../src/browser/chromium.ts';
import { type Json, record, text } from '../src/records.ts';
import { runCli } from '../src/run-cli.ts';
import { make, openShop, type Shop } from '../src/shop.ts';
import { backButtonTests } from './back-button.ts';
import { bankPageTests } from './bank-page.ts';
import { cardFieldsPageTests } from './card-fields-page.ts';
import { emailPageTests } from './email-page.ts';
import { endedPageTests } from './ended-page.ts';
import { invoicePageTests } from './invoice-page.ts';
import { keyboardPageTests } from './keyboard-page.ts';
import { leavingPageTests } from './leaving-page.ts';
import { letterPageTests } from './letter-page.ts';
import { livePageTests } from './live-page.ts';
import { lostAnswerTests } from './lost-answers.ts';
import { pageSpeedTests } from './page-speed.ts';
import { pageStateTests } from './page-states.ts';
import { promoCodePageTests } from './promo-code-page.ts';
import { savedCardPageTests } from './saved-card-page.ts';
import { shortCardPageTests } from './short-card-page.ts';

// A browser, the whole of Eligo and another worker's tests share two cores.
vi.setConfig({ testTimeout: process.env.ELIGO_TEST_LONG === 'on' ? 300_000 : 60_000 });

let eligo: Constellation;
let browser: Browser;
let shoppersBrowser: Browser;
let shop: Shop;
let server: Server;
let shopUrl: string;

beforeAll(async () => {
  server = createServer((request, response) => {
    response.setHeader('content-type', 'text/html');
    response.end(`<title>The shop</title><p>${request.url}`);
  }).listen(0, '127.0.0.1');
  [eligo, browser, shoppersBrowser] = await Promise.all([
    startConstellation({ topology: 'in-process', environment: { ELIGO_LIVE_PROCESSOR: 'sandbox' } }),
    launchChromium(),
    launchChromium({ likeShoppers: true }),
  ]);
  shopUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  shop = await openShop(eligo.api());
}, 480_000);
afterAll(async () => {
  await browser?.close();
  await shoppersBrowser?.close();
  server?.close();
  await stopWithBooks(eligo);
}, 60_000);

/** A session with one eligible and one other item, unless `fields` says otherwise. */
async function newSession(fields: Json = {}): Promise<{ id: string; url: string }> {
  const session = await make(eligo.api(), '/v1/checkout/sessions', 'checkout_session', {
    line_items: [
      { price: shop.eligiblePriceId, quantity: 1 },
      { price: shop.otherPriceId, quantity: 2 },
    ],
    success_url: `${shopUrl}/done?session={CHECKOUT_SESSION_ID}`,
    cancel_url: `${shopUrl}/cart`,
    shipping_options: { shipping_rate_id: shop.rateId },
    tax_rate: { amount: 825 },
    fees: [{ amount: 150, name: 'Handling' }],
    ...fields,
  });
  return { id: text(session, 'checkout_session_id'), url: text(session, 'redirect_url') };
}
const eligibleOnly = () => ({ line_items: [{ price: shop.eligiblePriceId, quantity: 1 }] });

const stateOf = async (id: string) =>
  record((await eligo.api().get(`/v1/checkout/sessions/${id}`)).body, 'checkout_session');
async function chargesOf(id: string): Promise<number[]> {
  const { data } = (await eligo.sandbox('GET', '/sandbox/charges')) as {
    data: { amount: number; captured: boolean; status: string; metadata: Record<string, string> }[];
  };
  return data
    .filter(({ metadata, status, captured }) => metadata.session === id && status === 'succeeded' && captured)
    .map(({ amount }) => amount)
    .sort((one, other) => one - other);
}

const open = (url: string, options = phone) => openCheckoutTab(browser, url, options);

describe('the checkout page', () => {
  it('takes one HSA card for an eligible cart and sends the shopper back to the shop [D14.82]', async () => {
    const { id, url } = await newSession(eligibleOnly());
    const tab = await open(url);
    await tab.type('health', numbers.hsa);
    await tab.inspect('hsa-phone');
    const { asked } = await tab.stays(shopUrl);
    await tab.pay();
    await tab.says('your payment is complete');
    await tab.inspect('complete-phone');
    expect(await asked).toBe(`${shopUrl}/done?session=${id}`);
    expect(await stateOf(id)).toMatchObject({ status: 'complete' });
    await tab.close();
  });

  it('takes two cards for a mixed cart, each for its part, and no number reaches Eligo [D14.81, D14.82]', async () => {
    const { id, url } = await newSession();
    const tab = await open(url, desktop);
    await tab.type('health', numbers.hsa);
    await tab.type('other', numbers.credit);
    await tab.inspect('two-cards-desktop');
    const sent: string[] = [];
    tab.page.on('request', (request) => {
      if (request.url().startsWith(eligo.url)) sent.push(`${request.url()} ${request.postData() ?? ''}`);
    });
    await tab.pay();
    await tab.says('your payment is complete');
    expect(await stateOf(id)).toMatchObject({ status: 'complete', amount_received: 11_773 });
    expect(await chargesOf(id)).toEqual([5_885, 5_888]);
    expect(sent.some((text) => text.includes('/pay '))).toBe(true);
    // The search finds what is there: in columns, in the bytes of events, in logs.
    const found = await placesWith(eligo, [id]);
    expect(found).toEqual(expect.arrayContaining(['checkout.sessions', 'checkout.outbox']));
    expect(logsOf(eligo).join('')).toContain('"service":"sandbox"');
    // The events of the payment are in the streams before they are searched.
    const messages = await waitUntil(async () => {
      const all = await messagesOf(eligo);
      return all.some((text) => text.includes('payment_intent.succeeded') && text.includes(id)) && all;
    });
    for (const forms of [numbers.hsa, numbers.credit].map(formsOf)) {
      expect(sent.filter((text) => hasForm(text, forms))).toEqual([]);
      expect(await placesWith(eligo, forms)).toEqual([]);
      expect(messages.filter((text) => hasForm(text, forms))).toEqual([]);
    }
    await tab.close();
  });

  it('would find a card number with spaces, with dashes, encoded for a URL, and as bytes', async () => {
    const { admin } = eligo.database;
    await admin('create table public.canaries (text text, bytes bytea)');
    const forms = formsOf(numbers.credit);
    for (const text of [
      '4242 4242 4242 4242',
      '4242-4242-4242-4242',
      '4242%204242%204242%204242',
      '4242+4242+4242+4242',
    ]) {
      for (const written of [text, `card=${text}&cvc=123`.toUpperCase()]) {
        await admin('truncate public.canaries');
        await admin('insert into public.canaries (text) values ($1)', [written]);
        expect(await placesWith(eligo, forms)).toEqual(['public.canaries']);
        await admin('update public.canaries set text = null, bytes = $1', [Buffer.from(written)]);
        expect(await placesWith(eligo, forms)).toEqual(['public.canaries']);
      }
    }
    await admin('drop table public.canaries');
  });

  it('holds a health card alone and takes the second card in the next step, also after a reload [D13.4]', async () => {
    const { id, url } = await newSession();
    const tab = await open(url);
    await tab.type('health', numbers.hsa);
    await tab.pay();
    await tab.says('Add a second card');
    await tab.inspect('second-card-phone');
    await tab.page.reload();
    await tab.says('Pay $58.88');
    await tab.type('other', numbers.hsa);
    await tab.pay();
    await tab.says('This is an HSA or FSA card, and one already pays for the eligible items');
    // What was typed is still there to be corrected.
    expect(await tab.card('other').locator('#number').inputValue()).toBe(numbers.hsa);
    await tab.inspect('second-health-card-phone');
    expect(await chargesOf(id)).toEqual([]);
    await tab.type('other', numbers.credit);
    await tab.pay();
    await tab.says('your payment is complete');
    expect(await chargesOf(id)).toEqual([5_885, 5_888]);
    await tab.close();
  });

  it('says that a card was declined and takes another [D14.82]', async () => {
    const { id, url } = await newSession(eligibleOnly());
    const tab = await open(url);
    await tab.type('health', numbers.insufficient);
    await tab.pay();
    await tab.says('does not have enough money');
    await tab.inspect('declined-phone');
    await tab.page.getByLabel('Other card').check();
    await tab.type('other', numbers.declined);
    await tab.pay();
    await tab.says('Your card was declined');
    await tab.type('other', numbers.credit);
    await tab.pay();
    await tab.says('your payment is complete');
    expect(await chargesOf(id)).toEqual([6_773]);
    await tab.close();
  });

  it('charges once for two clicks, and shows what another tab has paid [D14.83]', async () => {
    const { id, url } = await newSession(eligibleOnly());
    const tab = await open(url);
    const other = await openTabIn(tab.context, url);
    await tab.type('health', numbers.hsa);
    await other.type('health', numbers.hsa);
    const { asked } = await tab.stays(shopUrl);
    await tab.page.locator('button.pay').dblclick();
    const sees = (one: CheckoutTab) => one.says('your payment is complete');
    await Promise.all([sees(tab), other.pay().then(() => sees(other))]);
    expect(await chargesOf(id)).toEqual([6_773]);
    expect(await asked).toBe(`${shopUrl}/done?session=${id}`);
    // Back from the shop: the page shows that nothing is left to pay.
    await tab.page.goto(url);
    await tab.says('your payment is complete');
    await tab.close();
    await other.close();
  });

  it('cancels after a question, and goes back to the cart [D14.82]', async () => {
    const { id, url } = await newSession();
    const tab = await open(url);
    await tab.page.getByText('Cancel this order').click();
    await tab.page.getByText('Keep paying').click();
    await tab.page.getByText('Cancel this order').click();
    await tab.inspect('cancel-phone');
    await tab.page.getByText('Yes, cancel').click();
    await tab.page.waitForURL(`${shopUrl}/cart`);
    expect(await stateOf(id)).toMatchObject({ status: 'canceled' });
    await tab.close();
  });

  it('asks for an address and the terms, and says what is missing [D14.82, D14.174]', async () => {
    const { id, url } = await newSession({
      ...eligibleOnly(),
      shipping_address_collection: true,
      // The shop takes this country beside its own.
      shipping_details: { city: 'Toronto', country: 'CA' },
      custom_text: {
        terms_of_service_checkbox_required: true,
        terms_of_service_acceptance: { message: 'I accept the terms of Demo.' },
        submit: { message: 'Your order ships today.' },
      },
    });
    const tab = await open(url);
    await tab.type('health', numbers.hsa);
    await tab.pay();
    await tab.says('Fill in this field');
    await tab.says('Postal code (optional)');
    await tab.inspect('address-abroad-phone');
    await tab.page.getByLabel('Country').selectOption({ label: 'United States' });
    await tab.inspect('address-phone');
    await tab.page.getByLabel('Street address').fill('1 Main Street');
    await tab.page.getByLabel('City').fill('Springfield');
    await tab.page.getByLabel('State').fill('IL');
    await tab.page.getByLabel('ZIP code').fill('62701');
    await tab.pay();
    await tab.says('Accept the terms');
    await tab.page.getByLabel('I accept the terms of Demo.').check();
    await tab.pay();
    await tab.says('your payment is complete');
    expect(await stateOf(id)).toMatchObject({
      status: 'complete',
      shipping_details: {
        line1: '1 Main Street',
        city: 'Springfield',
        state: 'IL',
        postal_code: '62701',
        country: 'US',
      },
    });
    await tab.close();
  });

  it('is paid with the keyboard alone, in Spanish, in the dark, in the colors of the shop, and reads as it should aloud [D14.82, D14.84, D14.270]', async () => {
    const update = ['accounts', 'update', eligo.account];
    const logo = ['--logo-url', 'https://shop.example/logo.svg'];
    await runCli(eligo, [...update, '--display-name', 'Botica Sol', '--accent-color', '#ffcc00', ...logo]);
    const { id, url } = await newSession(eligibleOnly());
    const options = { ...desktop, locale: 'es-MX', colorScheme: 'dark' } as const;
    const tab = await openCheckoutTab(browser, url, options, (context) =>
      context.route('https://shop.example/logo.svg', (route) =>
        route.fulfill({
          contentType: 'image/svg+xml',
          body: '<svg xmlns="http://www.w3.org/2000/svg" width="32" height="32"/>',
        }),
      ),
    );
    await waitUntil(() => tab.page.evaluate<boolean>("document.querySelector('header img').naturalWidth > 0"), {
      what: 'the logo',
    });
    await tab.says('Botica Sol');
    await tab.says('Pagar $67.73');
    await tab.page.locator('input[type=radio]:checked').focus();
    await tab.page.keyboard.press('Tab');
    await tab.page.keyboard.type('4000051230000072');
    await tab.page.keyboard.press('Tab');
    await tab.page.keyboard.type('1239');
    await tab.page.keyboard.press('Tab');
    await tab.page.keyboard.type('123');
    await tab.inspect('spanish-dark-desktop');
    await tab.stays(shopUrl);
    await tab.page.keyboard.press('Enter');
    await tab.says('tu pago está completo');
    expect(await tab.page.evaluate('document.activeElement.tagName')).toBe('H1');
    await tab.inspect('complete-spanish-dark-desktop');
    expect(await chargesOf(id)).toEqual([6_773]);
    await tab.close();
    await runCli(eligo, [...update, '--display-name', 'none', '--accent-color', 'none', '--logo-url', 'none']);
  });

  it('takes an ordinary card alone for a reimbursement, and says what the plan can reimburse [D14.209]', async () => {
    const { id, url } = await newSession({ mode: 'reimbursement' });
    const tab = await open(url);
    await tab.says('Your HSA or FSA plan can reimburse $58.85 of this order.');
    expect(await tab.page.locator('section[aria-labelledby="health-card"]').count()).toBe(0);
    await tab.type('other', numbers.hsa);
    await tab.inspect('reimbursement-phone');
    // The receipt is what the plan wants to see, so it is mailed.
    await tab.page.getByLabel('E-mail address').fill('ada@example.com');
    await tab.pay();
    await tab.says('An HSA or FSA card cannot pay for this order');
    await tab.type('other', numbers.credit);
    await tab.pay();
    await tab.says('your payment is complete');
    expect(await chargesOf(id)).toEqual([11_773]);
    await tab.close();
  });

  it('says what is wrong with a card in its fields, in both languages [D14.82, D14.228]', async () => {
    const { url } = await newSession(eligibleOnly());
    const tab = await open(url);
    await tab.type('health', '4000 0512 3000 0073');
    await tab.pay();
    await tab.card('health').getByText('This card number is not valid').waitFor();
    await tab.inspect('wrong-number-phone');
    // In the other language, too, and what was typed stays.
    await tab.page.getByText('Español').click();
    await tab.card('health').getByText('Este número de tarjeta no es válido').waitFor();
    expect(await tab.card('health').locator('#number').inputValue()).toBe('4000 0512 3000 0073');
    await tab.close();
  });
});

shortCardPageTests(() => ({ eligo, browser, newSession, chargesOf }));
bankPageTests(() => ({ browser, newSession, stateOf, chargesOf }));
cardFieldsPageTests(() => ({ browser, newSession }));
endedPageTests(() => ({ eligo, browser, shop, newSession }));
emailPageTests(() => ({ eligo, browser }));
pageStateTests(() => ({ browser, newSession }));
backButtonTests(() => ({
  ...{ eligo, browser, shoppersBrowser, shopUrl, newSession, eligibleOnly, stateOf, chargesOf },
}));
invoicePageTests(() => ({ eligo, browser, shop }));
leavingPageTests(() => ({ browser, shopUrl, newSession, eligibleOnly, stateOf }));
letterPageTests(() => ({ eligo, browser, newSession, stateOf }));
keyboardPageTests(() => ({ eligo, browser, shopUrl, newSession, stateOf }));
livePageTests(() => ({ eligo, browser, shopUrl }));
lostAnswerTests(() => ({ eligo, browser, shopUrl, newSession, eligibleOnly, chargesOf }));
pageSpeedTests(() => ({ shoppersBrowser, newSession }));
promoCodePageTests(() => ({ eligo, browser, newSession, stateOf, chargesOf }));
savedCardPageTests(() => ({ eligo, browser, shop, newSession, stateOf, chargesOf }));
