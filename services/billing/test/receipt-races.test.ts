import { create } from '@bufbuild/protobuf';
import { type Scope, type Tx, withTx } from '@eligo/postgres';
import { IssueRefundReceiptSchema } from '@eligo/proto/events/v1/events';
import { waitUntil } from '@eligo/testkit';
import { newId } from '@eligo/values';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { issueRefundReceipt } from '../src/actions/issue-refund-receipt.ts';
import { listReceipts } from '../src/store/receipts.ts';
import { type Fixture, openFixture, someScope } from './fixture.ts';

let on: Fixture;
let scope: Scope;
let sessionId: string;
let refundId: string;

beforeAll(async () => {
  on = await openFixture();
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
    const waits =
      "select 1 from pg_stat_activity where wait_event_type = 'Lock' and wait_event = 'advisory' and datname = current_database()";
    await waitUntil(async () => (await on.test.admin(waits)).length > 0, { what: 'the second receipt to wait' });
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
