import { checkProcessor } from '@eligo/cli';
import { openDatabase } from '@eligo/postgres';
import { openProcessors } from '@eligo/processor';
import { type Api, type Constellation, startConstellation, waitUntil } from '@eligo/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newLiveCard } from '../src/live-card.ts';
import { text } from '../src/records.ts';
import { runCli } from '../src/run-cli.ts';
import { confirm, newCustomer, newSession, openShop, type Shop } from '../src/shop.ts';

describe('HSA and FSA cards in live mode', () => {
  let eligo: Constellation;
  let live: Api;
  let shop: Shop;
  let customer: string;
  let card: string;

  beforeAll(async () => {
    eligo = await startConstellation({ topology: 'in-process', environment: { ELIGO_LIVE_PROCESSOR: 'sandbox' } });
    live = eligo.api(eligo.liveApiKey);
    shop = await openShop(live);
    customer = await newCustomer(live);
    card = await newLiveCard(eligo, customer);
  }, 180_000);
  afterAll(() => eligo?.stop(), 60_000);

  const setTo = (...options: string[]) =>
    runCli(eligo, ['accounts', 'update', eligo.account, '--substantiation', ...options]);

  // What checkout charges renewals by.
  const toldToCheckout = async () => {
    const [row] = await eligo.database.admin<{ substantiation: string | null }>(
      'select substantiation from checkout.health_card_statements where account_id = $1',
      [eligo.account],
    );
    return row;
  };

  it('are charged for the demo account, refused by 422 once it has no substantiation, and charged under the same key after; checkout is told [ERR-8, STATE-2, D14.72, D14.233]', async () => {
    const first = text(await newSession(live, shop, { customer }), 'checkout_session_id');
    expect((await confirm(live, first, card)).status).toBe(200);
    await setTo('none');
    const session = text(await newSession(live, shop, { customer }), 'checkout_session_id');
    const refused = await waitUntil(async () => {
      const fresh = text(await newSession(live, shop, { customer }), 'checkout_session_id');
      const answer = await confirm(live, fresh, card, { key: 'refused' });
      return answer.status === 422 && answer;
    });
    expect(refused.body).toMatchObject({
      code: 'health_cards_not_enabled',
      detail: expect.stringContaining('Ask the operator'),
    });
    expect((await confirm(live, session, card, { key: 'mine' })).status).toBe(422);
    await waitUntil(async () => (await toldToCheckout())?.substantiation === null);
    await setTo('ninety_percent', '--by', 'Ada');
    await waitUntil(async () => (await toldToCheckout())?.substantiation === 'ninety_percent');
    await waitUntil(async () => (await confirm(live, session, card, { key: 'mine' })).status === 200);
  });

  it('that were saved at a former processor account are refused by 422, and nothing is begun [ERR-8, STATE-2, D14.106]', async () => {
    const former = await newLiveCard(eligo, customer, 'acct_former');
    const session = text(await newSession(live, shop, { customer }), 'checkout_session_id');
    expect(await confirm(live, session, former)).toMatchObject({
      ...{ status: 422, body: { code: 'payment_method_from_another_processor' } },
    });
    const { body } = await live.get(`/v1/checkout/sessions/${session}`);
    expect(body).toMatchObject({ checkout_session: { status: 'open', payment_intents: [] } });
  });

  it('have their money compared with the list that the processor of live mode gives [D14.157]', async () => {
    const { url, key } = eligo.processor;
    const database = openDatabase({ url: eligo.database.adminUrl, applicationName: 'ledger check', max: 1 });
    const processors = openProcessors({
      ELIGO_SANDBOX_URL: url,
      ELIGO_SANDBOX_KEY: key,
      ELIGO_LIVE_PROCESSOR: 'sandbox',
    });
    try {
      await waitUntil(
        async () => {
          const { movements, accounts, faults } = await checkProcessor(database, processors);
          return accounts === 1 && movements >= 2 && faults.length === 0;
        },
        { withinMs: 40_000, what: 'books that agree with the list' },
      );
      const changed = `update refunds.processor_transactions set fee_cents = fee_cents + 1
        where id = (select id from refunds.processor_transactions where not test_mode limit 1) returning id`;
      const [row] = await eligo.database.admin<{ id: string }>(changed);
      expect((await checkProcessor(database, processors)).faults).toEqual([
        expect.objectContaining({ fault: 'movement_stored_differently', test_mode: false, id: row?.id }),
      ]);
    } finally {
      processors.close();
      await database.close();
    }
  }, 60_000);
});
