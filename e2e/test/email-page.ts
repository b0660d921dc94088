import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Api, type Constellation, waitUntil } from '@eligo/testkit';
import type { Browser } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { desktop, numbers, openCheckoutTab } from '../src/browser/checkout-tab.ts';
import { type Json, records, text } from '../src/records.ts';
import { runCli } from '../src/run-cli.ts';
import { make, openShop, type Shop } from '../src/shop.ts';

interface Stack {
  readonly eligo: Constellation;
  readonly browser: Browser;
}

/** The checkout page of a shopper of whom the shop says no e-mail address. */
export function emailPageTests(stack: () => Stack): void {
  describe('the checkout page of a payment link whose shop sends receipts', () => {
    let api: Api;
    let shop: Shop;
    beforeAll(async () => {
      const { eligo } = stack();
      const made = await runCli(eligo, ['accounts', 'create', '--name', 'Corner Care', '--feature', 'receipts']);
      api = eligo.api(text(made, 'test_api_key'));
      shop = await openShop(api);
    });

    const link = async (fields: Json = {}) => {
      const line_items = [{ price: shop.eligiblePriceId, quantity: 1 }];
      return text(await make(api, '/v1/payment_links', 'payment_link', { line_items, ...fields }), 'url');
    };
    /** The newest session of the account. */
    const newest = async () => {
      const [session] = records(await api.ok('GET', '/v1/checkout/sessions?limit=1'), 'checkout_sessions');
      return session ?? expect.fail('no session');
    };

    it('asks where the receipt goes, says what is wrong with the address, and mails it there [D14.364]', async () => {
      const tab = await openCheckoutTab(stack().browser, await link());
      await tab.type('health', numbers.hsa);
      const email = tab.page.getByLabel('E-mail address');
      await tab.pay();
      await tab.says('Fill in this field');
      expect(await tab.page.evaluate('document.activeElement.id')).toBe('email');
      await email.fill('guest example.com');
      await tab.pay();
      await tab.says('Check this address: it is not complete');
      await tab.inspect('email-wrong-phone');
      await email.fill(' guest@example.com ');
      await tab.pay();
      await tab.says('your payment is complete');
      const session = await newest();
      expect(session).toMatchObject({ status: 'complete', customer: null, customer_email: 'guest@example.com' });
      const mailed = await waitUntil(async () => mailsTo(stack().eligo, 'guest@example.com')[0], {
        ...{ withinMs: 30_000, what: 'the receipt' },
      });
      expect(mailed).toContain('Your receipt from Corner Care');
      const receipts = records(
        await api.ok('GET', `/v1/receipts?checkout_session=${text(session, 'checkout_session_id')}`),
        'receipts',
      );
      expect(receipts).toHaveLength(1);
      await tab.close();
    });

    it('keeps the address through a declined card and a reload, in Spanish, and lets it be corrected [D14.364]', async () => {
      const tab = await openCheckoutTab(stack().browser, await link(), { ...desktop, locale: 'es-MX' });
      const email = tab.page.getByLabel('Correo electrónico');
      await email.fill('gest@example.com');
      await tab.type('health', numbers.insufficient);
      await tab.pay();
      await tab.says('no tiene fondos suficientes');
      await tab.page.reload();
      expect(await email.inputValue()).toBe('gest@example.com');
      await tab.inspect('email-spanish-desktop');
      await email.fill('guest2@example.com');
      await tab.type('health', numbers.hsa);
      await tab.pay();
      await tab.says('tu pago está completo');
      expect(await newest()).toMatchObject({ status: 'complete', customer_email: 'guest2@example.com' });
      await tab.close();
    });

    it('does not ask where the shop gave the address [D14.364]', async () => {
      const given = await make(api, '/v1/checkout/sessions', 'checkout_session', {
        ...{ line_items: [{ price: shop.eligiblePriceId, quantity: 1 }], customer_email: 'known@example.com' },
        success_url: 'https://shop.example/done',
      });
      const tab = await openCheckoutTab(stack().browser, text(given, 'redirect_url'));
      await tab.says('Pay $49.99');
      expect(await tab.page.getByLabel('E-mail address').count()).toBe(0);
      await tab.close();
    });

    it('has what names the shopper erased by the operator’s command, from the session and the receipt [D14.365]', async () => {
      const { eligo } = stack();
      const tab = await openCheckoutTab(stack().browser, await link({ shipping_address_collection: true }));
      await tab.page.getByLabel('E-mail address').fill('erased@example.com');
      await tab.page.getByLabel('Street address').fill('77 Canary Street');
      await tab.page.getByLabel('City').fill('Springfield');
      await tab.page.getByLabel('State').fill('IL');
      await tab.page.getByLabel('ZIP code').fill('62701');
      await tab.type('health', numbers.hsa);
      await tab.inspect('email-address-phone');
      await tab.pay();
      await tab.says('your payment is complete');
      await tab.close();
      const id = text(await newest(), 'checkout_session_id');
      await waitUntil(() => mailsTo(eligo, 'erased@example.com').length > 0, { withinMs: 30_000, what: 'the receipt' });
      const account = text(await newest(), 'partner');
      const erase = ['guests', 'erase', 'erased@example.com', '--account', account, '--mode', 'test', '--by', 'R-7'];
      expect(await runCli(eligo, erase, { ELIGO_MAIL_FOLDER: join(eligo.home.root, 'mail') })).toMatchObject({
        session_ids: [id],
        sessions: 1,
        receipts: 1,
        mails: 1,
      });
      expect(await newest()).toMatchObject({ status: 'complete', customer_email: null, shipping_details: null });
      expect(mailsTo(eligo, 'erased@example.com')).toEqual([]);
      const kept = 'select email, content::text, html from billing.receipts where checkout_session_id = $1';
      const [receipt] = await eligo.database.admin(kept, [id]);
      expect(JSON.stringify(receipt)).not.toContain('erased@example.com');
    });
  });
}

function mailsTo({ home }: Constellation, address: string): string[] {
  const folder = join(home.root, 'mail');
  const files = existsSync(folder) ? readdirSync(folder) : [];
  const mails = files.map((name) => readFileSync(join(folder, name), 'utf8'));
  return mails.filter((mail) => mail.includes(`To: ${address}`));
}
