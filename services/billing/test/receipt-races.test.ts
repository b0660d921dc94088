import { create } from '@bufbuild/protobuf';
import { textOfPdf } from '@eligo/pdf/test-support';
import { type Database, type Scope, type Tx, withTx } from '@eligo/postgres';
import { IssueRefundReceiptSchema } from '@eligo/proto/events/v1/events';
import { untilLockWait } from '@eligo/testkit';
import { newId } from '@eligo/values';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { eraseReceipts } from '../src/actions/erase-receipts.ts';
import { eraseSoldMetadata } from '../src/actions/erase-sold-metadata.ts';
import { issueRefundReceipt } from '../src/actions/issue-refund-receipt.ts';
import { receiptDocuments } from '../src/actions/receipt-documents.ts';
import { listReceipts } from '../src/store/receipts.ts';
import { findSubscription } from '../src/store/subscriptions.ts';
import { type Fixture, openFixture, patience, sell, someScope } from './fixture.ts';

let on: Fixture;
/** As the operator's command has it: row-level security does not bind it. */
let operator: Database;
let scope: Scope;
let sessionId: string;
let refundId: string;

beforeAll(async () => {
  on = await openFixture();
  operator = on.test.open('billing', { ...patience, url: on.test.adminUrl });
});
afterAll(() => on.close());
beforeEach(() => {
  scope = someScope();
  sessionId = newId('checkout_session');
  refundId = newId('refund');
});

const issue = (tx: Tx, amountCents: bigint) =>
  issueRefundReceipt(
    tx,
    scope,
    create(IssueRefundReceiptSchema, {
      ...{ refundId, email: 'ann@example.com', merchantName: 'Care & Co', shopperName: 'Ann Lee' },
      ...{ session: { checkoutSessionId: sessionId, testMode: true }, amountCents },
    }),
  );
const listed = async () => (await listReceipts(on.database, scope, { limit: 10 }, {})).receipts.toReversed();

describe('the documents of a receipt whose shopper is erased', () => {
  const isNameless = async () => {
    const [receipt] = await listed();
    if (receipt === undefined) throw new Error('no receipt');
    const { html, pdf } = await receiptDocuments(on.database, scope, receipt);
    expect(html + textOfPdf(pdf)).not.toContain('Ann Lee');
    const stored = "select r::text from billing.receipts r where r.account_id = $1 and r::text ~ 'Ann Lee'";
    expect(await on.test.admin(stored, [scope.accountId])).toEqual([]);
    return html;
  };

  it('are never stored with the name, also where they are rendered of what was read before [D14.143, D14.207]', async () => {
    await withTx(on.database, scope, (tx) => issue(tx, 500n));
    const [before] = await listed();
    if (before === undefined) throw new Error('no receipt');
    expect(await eraseReceipts(operator, scope, [sessionId])).toBe(1);
    const { html } = await receiptDocuments(on.database, scope, before);
    expect(html).toContain('Care &#38; Co');
    expect(html).not.toContain('Ann Lee');
    expect(await isNameless()).toBe(html);
  });

  it('are rendered again after an erasure that is repeated, if an earlier release stored the name [D14.143]', async () => {
    await withTx(on.database, scope, (tx) => issue(tx, 500n));
    await eraseReceipts(operator, scope, [sessionId]);
    await on.test.admin(`update billing.receipts set html = 'Ann Lee', pdf = 'x' where account_id = $1`, [
      scope.accountId,
    ]);
    expect(await eraseReceipts(operator, scope, [sessionId])).toBe(0);
    await isNameless();
  });
});

it('a subscription that starts after its shopper was erased copies no metadata of its session, and one that started before has none left [D14.399]', async () => {
  const metadata = { note: 'Ann Lee' };
  const metadataOf = async (id: string) => (await findSubscription(on.database, scope, id))?.metadata;
  const before = await sell(on, scope, { sessionId, metadata });
  const other = await sell(on, scope, { metadata });
  await eraseReceipts(operator, scope, [sessionId]);
  await eraseSoldMetadata(operator, scope, [sessionId]);
  expect(await metadataOf(before.subscriptionId)).toEqual({});
  expect(await metadataOf(other.subscriptionId)).toEqual(metadata);
  const late = newId('checkout_session');
  await eraseReceipts(operator, scope, [late]);
  const after = await sell(on, scope, { sessionId: late, metadata });
  expect(await metadataOf(after.subscriptionId)).toEqual({});
});

describe('two amounts of one refund that are handled at once', () => {
  const both = async (first: bigint, second: bigint) => {
    const issued = Promise.withResolvers<void>();
    const mayCommit = Promise.withResolvers<void>();
    const issuing = withTx(on.database, scope, async (tx) => {
      await issue(tx, first);
      issued.resolve();
      await mayCommit.promise;
    });
    await issued.promise;
    const behind = withTx(on.database, scope, (tx) => issue(tx, second));
    await untilLockWait(on.test.admin, 'the second receipt to wait', { event: 'advisory' });
    mayCommit.resolve();
    await Promise.all([issuing, behind]);
    return (await listed()).map(({ amountCents, content }) => [amountCents, content]);
  };

  it('have one receipt each, of which the later corrects the earlier [D14.169]', async () => {
    expect(await both(500n, 300n)).toMatchObject([
      [500, { earlierCents: null }],
      [300, { earlierCents: 500 }],
    ]);
  });

  it('have no receipt of the earlier amount behind that of the later one [D14.169]', async () => {
    expect(await both(300n, 500n)).toMatchObject([[300, { earlierCents: null }]]);
  });
});
