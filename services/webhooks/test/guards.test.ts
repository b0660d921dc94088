import { scoped } from '@eligo/postgres';
import { newId } from '@eligo/values';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { asleep, type Fixture, inScope, openFixture, refundEvent, rowsOf, someScope } from './fixture.ts';

let on: Fixture;
beforeAll(async () => {
  on = await openFixture();
  on.webhooks.sender = asleep;
});
afterAll(() => on.close());

const insert = (accountId: string, webhookId: string, eventId: string, values = `'pending', now()`) =>
  on.admin(
    `insert into webhooks.deliveries (account_id, test_mode, id, endpoint_id, event_id, event_type, status, next_attempt_at, created_at)
     values ($1, true, $2, $3, $4, 'refund.created', ${values}, now())`,
    [accountId, newId('delivery'), webhookId, eventId],
  );

it('a delivery belongs to an event and an endpoint of its account that exist', async () => {
  const scope = someScope();
  const { webhookId } = await on.endpoint(scope, 'http://127.0.0.1:1/', ['customer.created']);
  const event = refundEvent(scope);
  await on.consume(event);
  await expect(insert(scope.accountId, webhookId, newId('event'))).rejects.toMatchObject({ code: '23503' });
  await expect(insert(scope.accountId, newId('webhook_endpoint'), event.eventId)).rejects.toMatchObject({
    code: '23503',
  });
  await expect(insert(someScope().accountId, webhookId, event.eventId)).rejects.toMatchObject({ code: '23503' });
  await insert(scope.accountId, webhookId, event.eventId);
  await expect(insert(scope.accountId, webhookId, event.eventId), 'one for each').rejects.toMatchObject({
    code: '23505',
  });
});

it('a delivery goes with its event', async () => {
  const scope = someScope();
  await on.endpoint(scope, 'http://127.0.0.1:1/');
  const event = refundEvent(scope);
  await on.consume(event);
  expect(await rowsOf(on, 'deliveries', scope)).toHaveLength(1);
  await on.admin('delete from webhooks.events where id = $1', [event.eventId]);
  expect(await rowsOf(on, 'deliveries', scope)).toEqual([]);
});

it('only what is pending has a time', async () => {
  const scope = someScope();
  const { webhookId } = await on.endpoint(scope, 'http://127.0.0.1:1/', ['customer.created']);
  const event = refundEvent(scope);
  await on.consume(event);
  await expect(insert(scope.accountId, webhookId, event.eventId, `'exhausted', now()`)).rejects.toMatchObject({
    code: '23514',
  });
});

it('the service cannot delete an endpoint, nor move a delivery to another event', async () => {
  const scope = someScope();
  await on.endpoint(scope, 'http://127.0.0.1:1/');
  await on.consume(refundEvent(scope));
  for (const text of ['delete from webhooks.endpoints', `update webhooks.deliveries set event_id = 'other'`]) {
    const statement = scoped<never>(`test.${text.length}`, `${text} where account_id = $1 and test_mode = $2`);
    await expect(inScope(on, scope, (tx) => tx.execute(statement, scope))).rejects.toThrow('permission denied');
  }
});
