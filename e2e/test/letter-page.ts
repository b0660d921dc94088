import type { Constellation } from '@eligo/testkit';
import type { Browser } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import {
  answerLetterQuestions,
  desktop,
  numbers,
  openCheckoutTab,
  openTabIn,
  phone,
} from '../src/browser/checkout-tab.ts';
import { type Json, text } from '../src/records.ts';

interface Stack {
  readonly eligo: Constellation;
  readonly browser: Browser;
  newSession(fields?: Json): Promise<{ id: string; url: string }>;
  stateOf(id: string): Promise<Json>;
}

/** The questions of a letter of medical necessity on the checkout page. */
export function letterPageTests(stack: () => Stack): void {
  const product = { name: 'Massage', hsa_fsa_eligibility: 'letter_of_medical_necessity' };
  const newLetterSession = (fields: Json = {}) =>
    stack().newSession({
      line_items: [{ price_data: { unit_amount: 9_000, product_data: product }, quantity: 1 }],
      ...fields,
    });
  async function decide(id: string, verb: 'approve' | 'deny'): Promise<void> {
    const api = stack().eligo.api();
    const { body } = await api.get(`/v1/letters?checkout_session=${id}`);
    const [letter] = body.letters as Json[];
    await api.ok('POST', `/v1/test_helpers/letters/${text(letter ?? {}, 'letter_id')}/${verb}`);
  }

  describe('the questions of a letter', () => {
    it('are asked after the payment, once, and answered with the keyboard [D14.113]', async () => {
      const { id, url } = await newLetterSession();
      const tab = await openCheckoutTab(stack().browser, url, phone);
      await tab.type('health', numbers.hsa);
      await tab.pay();
      await tab.says('Questions for your letter');
      expect(await tab.page.evaluate('document.activeElement.textContent')).toBe('Questions for your letter');
      await tab.inspect('letter-questions-phone');
      await tab.page.getByText('Send answers').click();
      await tab.says('Confirm this to send your answers');
      expect(await tab.page.getByRole('checkbox').getAttribute('required')).not.toBeNull();
      await tab.inspect('letter-missing-phone');
      await tab.page.route('**/letter', (route) => route.abort('connectionreset'), { times: 1 });
      await tab.page.getByLabel('Which medical condition').fill('Back pain');
      await tab.page.keyboard.press('Tab');
      await tab.page.keyboard.type('It relieves the pain');
      await tab.page.keyboard.press('Tab');
      await tab.page.keyboard.press('Tab');
      await tab.page.keyboard.press('Space');
      await tab.page.keyboard.press('Tab');
      await tab.page.keyboard.press('Enter');
      await tab.says('Your answers could not be sent');
      await tab.inspect('letter-not-sent-phone');
      expect(await tab.page.getByLabel('Which medical condition').inputValue()).toBe('Back pain');
      await tab.page.getByText('Send answers').click();
      await tab.says('once your letter of medical necessity is approved');
      expect(await tab.page.evaluate('document.activeElement.tagName')).toBe('H1');
      await tab.inspect('letter-answered-phone');
      await tab.page.reload();
      await tab.says('once your letter of medical necessity is approved');
      expect(await tab.page.getByText('Send answers').count()).toBe(0);
      expect(await stack().stateOf(id)).toMatchObject({ status: 'paid' });
      await decide(id, 'deny');
      // As the page does by itself every ten seconds.
      await tab.page.evaluate("dispatchEvent(new Event('online'))");
      await tab.says('Your letter was not approved');
      expect(await tab.page.evaluate('document.activeElement.textContent')).toContain('not approved');
      await tab.inspect('letter-denied-phone');
      await tab.close();
    });

    it('of an order that the shop captures are followed by its words, and by none of a letter once it is approved or none is needed [D14.76, D14.113]', async () => {
      const held = { capture_method: 'manual' };
      const { id, url } = await newLetterSession(held);
      const tab = await openCheckoutTab(stack().browser, url, phone);
      const { asked } = await tab.stays(text(await stack().stateOf(id), 'success_url'));
      await tab.type('health', numbers.hsa);
      await tab.pay();
      await answerLetterQuestions(tab);
      await tab.says('The shop can charge your card once your letter');
      await tab.inspect('letter-held-phone');
      await decide(id, 'approve');
      // As the page does by itself every ten seconds.
      await tab.page.evaluate("dispatchEvent(new Event('online'))");
      await tab.says('Thank you, your payment is authorized');
      expect(await tab.page.getByText('letter of medical necessity').count()).toBe(0);
      expect(await asked).toContain(id);
      expect(await stack().stateOf(id)).toMatchObject({ status: 'paid' });
      const other = await newLetterSession(held);
      await tab.page.goto(other.url);
      await tab.page.getByLabel('Other card').check();
      await tab.type('other', numbers.credit);
      await tab.pay();
      await tab.says('Thank you, your payment is authorized');
      expect(await stack().stateOf(other.id)).toMatchObject({ status: 'paid', next_action: null });
      await tab.close();
    });

    it.each([
      ['approve', 'tu pago está completo'],
      ['deny', 'Tu carta no fue aprobada'],
    ] as const)(
      'are answered once in two tabs and by two clicks, before a reviewer decides to %s; then another card pays [D14.113, D14.172]',
      async (verb, outcome) => {
        const { id, url } = await newLetterSession();
        const tab = await openCheckoutTab(stack().browser, url, { ...desktop, locale: 'es-MX', colorScheme: 'dark' });
        await tab.type('health', numbers.hsa);
        await tab.pay();
        await tab.says('Preguntas para tu carta');
        const other = await openTabIn(tab.context, url);
        for (const { page } of [tab, other]) {
          await page.getByLabel('¿Para qué condición').fill('Dolor de espalda');
          await page.getByLabel('¿Cómo la tratan').fill('Lo alivian');
          await page.getByLabel('Mis respuestas son verdaderas').check();
        }
        await tab.inspect('letter-spanish-dark-desktop');
        await tab.page.getByText('Enviar respuestas').dblclick();
        await other.page.getByText('Enviar respuestas').click();
        for (const one of [tab, other]) {
          await one.says('cuando se apruebe tu carta');
          expect(await one.page.getByText('Enviar respuestas').count()).toBe(0);
        }
        const answers =
          'select from checkout.letter_answers a join checkout.letters l on l.id = a.letter_id where l.session_id = $1';
        expect(await stack().eligo.database.admin(answers, [id])).toHaveLength(1);
        await decide(id, verb);
        await tab.page.reload();
        await tab.says(outcome);
        await tab.inspect(`letter-${verb}-spanish-dark-desktop`);
        if (verb === 'deny') {
          await tab.type('other', numbers.credit);
          await tab.pay();
          await tab.says('tu pago está completo');
        }
        expect(await stack().stateOf(id)).toMatchObject({ status: 'complete', amount_received: 10_774 });
        await tab.close();
        await other.close();
      },
    );
  });
}
