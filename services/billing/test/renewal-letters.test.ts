import type { Scope } from '@eligo/postgres';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { runDueSubscriptions } from '../src/jobs/run-due.ts';
import { loadInvoiceCharges } from '../src/store/invoice-charges.ts';
import { loadInvoiceLines } from '../src/store/invoice-lines.ts';
import { listInvoices } from '../src/store/invoices.ts';
import { findSubscription } from '../src/store/subscriptions.ts';
import { type Fixture, openFixture, sell, someScope, start } from './fixture.ts';

let on: Fixture;
let scope: Scope;

beforeAll(async () => {
  on = await openFixture();
});
afterAll(() => on.close());
beforeEach(() => {
  on.at(start);
  scope = someScope();
});

const may = '2026-05-01T00:00:00.000Z';
const runAll = async () => {
  while (await runDueSubscriptions(on.context));
};
const read = async (id: string) => {
  const subscription = await findSubscription(on.database, scope, id);
  if (subscription === undefined) throw new Error('no subscription');
  return subscription;
};
const renewedOf = async (subscriptionId: string) => {
  const { invoices } = await listInvoices(on.database, scope, { limit: 1 }, { subscriptionId, ids: [] });
  const [renewed] = invoices;
  if (renewed === undefined) throw new Error('no invoice');
  return renewed;
};

describe('a renewal with a line that needs a letter of medical necessity', () => {
  it('charges a line that needs a letter to a health card while the letter is valid, and to the other card after that [D14.90, D14.142]', async () => {
    const backup = on.peers.card(false);
    const { subscriptionId, card, customerId } = await sell(on, scope, {
      backup,
      items: [{ eligibility: 'letter_of_medical_necessity' }, {}, { eligibility: 'not_eligible' }],
    });
    const [needing] = (await read(subscriptionId)).items;
    const letterId = on.peers.letter(customerId, needing?.productId ?? '', '2026-06-01T00:00:00.000Z');
    on.at(may);
    await runAll();
    const invoice = await renewedOf(subscriptionId);
    expect(invoice).toMatchObject({ status: 'paid', totalCents: 9_000, eligibleCents: 6_000 });
    expect((await loadInvoiceLines(on.database, scope, invoice.id)).map((line) => line.letterId)).toEqual([
      ...[letterId, null, null],
    ]);
    // The letter's line is in none of the buckets; checkout counts it as medical.
    expect(on.peers.taken.filter(({ invoiceId }) => invoiceId === invoice.id)).toMatchObject([
      { leg: 'health', paymentMethodId: card, amountCents: 6_000, healthcareCents: 3_000 },
      { leg: 'other', paymentMethodId: backup, amountCents: 3_000 },
    ]);
    on.at('2026-06-01T00:00:00.000Z');
    await runAll();
    const next = await renewedOf(subscriptionId);
    expect(next).toMatchObject({ status: 'paid', totalCents: 9_000, eligibleCents: 3_000 });
    expect((await loadInvoiceLines(on.database, scope, next.id))[0]).toMatchObject({
      letterId: null,
      eligibleCents: 0,
    });
  });

  it('is refused by the table of lines as eligible without its letter [D14.142]', async () => {
    const { subscriptionId } = await sell(on, scope, {
      backup: on.peers.card(false),
      items: [{ eligibility: 'letter_of_medical_necessity' }],
    });
    on.at(may);
    await runAll();
    const { id } = await renewedOf(subscriptionId);
    const change = on.test.admin(
      'update billing.invoice_lines set eligible_cents = total_cents where invoice_id = $1',
      [id],
    );
    await expect(change).rejects.toMatchObject({ code: '23514', constraint: 'eligible_by_its_letter' });
  });

  it('does not charge a line that needs a letter to a health card [D14.90]', async () => {
    const backup = on.peers.card(false);
    const { subscriptionId } = await sell(on, scope, {
      backup,
      items: [{ eligibility: 'letter_of_medical_necessity' }],
    });
    on.at(may);
    await runAll();
    const invoice = await renewedOf(subscriptionId);
    expect(invoice).toMatchObject({ status: 'paid', eligibleCents: 0 });
    expect(await loadInvoiceCharges(on.database, scope, invoice.id)).toMatchObject([
      { leg: 'other', paymentMethodId: backup },
    ]);
  });
});
