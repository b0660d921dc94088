import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { completeSession } from '../src/actions/complete-session.ts';
import { cancelSession } from '../src/actions/end-session.ts';
import { cardKeeper } from '../src/actions/keep-card.ts';
import { readPage } from '../src/actions/read-page.ts';
import { keepShopperEmail } from '../src/actions/shopper-email.ts';
import { updateCustomer } from '../src/actions/update-customer.ts';
import type { Session } from '../src/domain/session.ts';
import { pageMessage } from '../src/messages/page.ts';
import { findCustomer } from '../src/store/customers.ts';
import { type CapturesFixture, openCapturesFixture } from './captures-fixture.ts';
import { line } from './fixture.ts';

let fixture: CapturesFixture;
beforeAll(async () => {
  fixture = await openCapturesFixture();
});
afterAll(() => fixture.close());

const lines = [line({ unitAmount: 3_000, class: 'auto_substantiation' })];
/** A session whose shop sends receipts, and says nothing of its shopper. */
const guests = (parts = {}) => fixture.session({ lines, receiptMerchantName: 'Corner Pharmacy', ...parts });
const keep = ({ id }: Session, email: string) => keepShopperEmail(fixture.context, fixture.scope, id, email);
async function asked({ id }: Session): Promise<[boolean, string | undefined]> {
  const { collectsEmail, shopperEmail } = pageMessage(
    fixture.scope,
    await readPage(fixture.context, fixture.scope, id),
  );
  return [collectsEmail, shopperEmail];
}

describe('the page of a session', () => {
  it('asks a shopper for an e-mail address where the shop gave none and sends receipts [D14.364]', async () => {
    expect(await asked(await guests())).toEqual([true, undefined]);
  });

  it.each([
    ['whose shop sends no receipts', { receiptMerchantName: undefined }],
    ['whose shop gave the address', { customerEmail: 'ann@example.com' }],
    ['whose shop gave it as a default', { defaults: { email: 'ann@example.com' } }],
    ['that costs nothing', { lines: [line({ unitAmount: 0 })] }],
  ])('asks nobody %s [D14.364]', async (_what, parts) => {
    expect(await asked(await guests(parts))).toEqual([false, undefined]);
  });

  it('asks nobody of whom it only saves a card [D14.364]', async () => {
    const { customerId } = await fixture.card('hsa');
    await fixture.test.admin('update checkout.customers set email = null where id = $1', [customerId]);
    expect(await asked(await guests({ mode: 'setup', lines: [], customerId }))).toEqual([false, undefined]);
  });

  it('asks the customer whose record has no address, and not one whose record has it [D14.364]', async () => {
    const card = await fixture.card('hsa');
    const session = await guests({ customerId: card.customerId });
    const set = 'update checkout.customers set email = $2 where id = $1';
    await fixture.test.admin(set, [card.customerId, null]);
    const isAsked = await asked(session);
    await fixture.test.admin(set, [card.customerId, 'ann@example.com']);
    expect([isAsked, await asked(session)]).toEqual([
      [true, undefined],
      [false, undefined],
    ]);
    await keep(session, 'other@example.com');
    expect(await fixture.reload(session)).toMatchObject({ customerEmail: null });
  });

  it('asks a guest who subscribes, whose renewals may have to be confirmed, whether or not receipts are sent [D14.364]', async () => {
    const session = await guests({
      ...{ mode: 'subscription', receiptMerchantName: undefined },
      lines: [line({ unitAmount: 3_000, class: 'auto_substantiation', recurring: true })],
    });
    expect(await asked(session)).toEqual([true, undefined]);
  });
});

describe('an e-mail address that a shopper types', () => {
  it('is the session’s, where the shop finds it, and the address of the receipt [D14.364]', async () => {
    const session = await guests();
    await keep(session, 'ann@example.com');
    const card = await fixture.card('hsa');
    const given = { sessionId: session.id, paymentMethodIds: [card.id], shippingDetails: null };
    expect(await completeSession(fixture.context, fixture.scope, given)).toMatchObject({
      ...{ status: 'complete', customerEmail: 'ann@example.com' },
    });
    expect(await fixture.issuedReceipt(session)).toMatchObject({ email: 'ann@example.com' });
    expect(await asked(session)).toEqual([false, undefined]);
  });

  it('can be corrected until the session is paid, and is shown again [D14.364]', async () => {
    const session = await guests();
    await keep(session, 'an@example.com');
    expect(await asked(session)).toEqual([true, 'an@example.com']);
    await keep(session, 'ann@example.com');
    expect(await asked(session)).toEqual([true, 'ann@example.com']);
    const { version } = await fixture.reload(session);
    await keep(session, 'ann@example.com');
    expect(await fixture.reload(session)).toMatchObject({ customerEmail: 'ann@example.com', version });
  });

  it('can be corrected after a declined payment has made a customer of the shopper, who then has it, too [D14.364]', async () => {
    const session = await guests({
      ...{ mode: 'subscription', receiptMerchantName: undefined },
      lines: [line({ unitAmount: 3_000, class: 'auto_substantiation', recurring: true })],
    });
    await keep(session, 'an@example.com');
    const customerId = await cardKeeper(fixture.context, fixture.scope, session.id, 'credit');
    const { customerId: kept } = await fixture.reload(session);
    expect([typeof customerId, kept]).toEqual(['string', customerId]);
    expect(await asked(session)).toEqual([true, 'an@example.com']);
    await keep(session, 'ann@example.com');
    expect(await fixture.reload(session)).toMatchObject({ customerEmail: 'ann@example.com' });
    const emailOf = async () => (await findCustomer(fixture.database, fixture.scope, customerId ?? ''))?.email;
    expect(await emailOf()).toBe('ann@example.com');
    const told = 'select type from checkout.outbox where aggregate_id = $1 order by type';
    expect(await fixture.test.admin(told, [customerId])).toEqual([
      { type: 'customer.created' },
      { type: 'customer.updated' },
    ]);
    // From then on it is the shop's.
    await updateCustomer(fixture.context, fixture.scope, customerId ?? '', { email: 'shop@example.com' });
    expect(await asked(session)).toEqual([false, undefined]);
    await keep(session, 'other@example.com');
    expect([(await fixture.reload(session)).customerEmail, await emailOf()]).toEqual([
      'ann@example.com',
      'shop@example.com',
    ]);
  });

  it('never changes a customer whom the shop named [D14.364]', async () => {
    const card = await fixture.card('hsa');
    await fixture.test.admin('update checkout.customers set email = null where id = $1', [card.customerId]);
    const session = await guests({ customerId: card.customerId });
    for (const email of ['an@example.com', 'ann@example.com']) await keep(session, email);
    expect(await fixture.reload(session)).toMatchObject({ customerEmail: 'ann@example.com' });
    expect(await findCustomer(fixture.database, fixture.scope, card.customerId ?? '')).toMatchObject({ email: null });
  });

  it('never replaces the shop’s own, and is not kept for a session that has ended [D14.364]', async () => {
    const [own, ended] = [await guests({ customerEmail: 'shop@example.com' }), await guests()];
    await cancelSession(fixture.context, fixture.scope, ended.id);
    for (const session of [own, ended]) await keep(session, 'ann@example.com');
    expect(await fixture.reload(own)).toMatchObject({ customerEmail: 'shop@example.com' });
    expect(await fixture.reload(ended)).toMatchObject({ customerEmail: null });
  });
});
