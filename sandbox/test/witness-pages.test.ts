import { expect, test } from 'vitest';
import { newIntent, newSandbox, sender } from './support.ts';

test('the witness lists all charges at once, or page by page from behind one of them, oldest first', async () => {
  const stripe = sender((await newSandbox()).url);
  const ids: string[] = [];
  for (let made = 0; made < 5; made += 1) {
    const id = await newIntent(stripe);
    ids.push(String((await stripe.post(`/v1/payment_intents/${id}/confirm`, {})).json.latest_charge));
  }
  const list = (query: string) => stripe.witness('GET', `/sandbox/charges${query}`);
  const idsOf = (json: { data: { id: string }[] }) => json.data.map(({ id }) => id);
  expect(idsOf((await list('')).json)).toEqual(ids);
  const listed: string[] = [];
  const more: boolean[] = [];
  for (let after = ''; more.at(-1) !== false; after = `&starting_after=${listed.at(-1)}`) {
    const { json } = await list(`?limit=2${after}`);
    listed.push(...idsOf(json));
    more.push((json as unknown as { has_more: boolean }).has_more);
  }
  expect([listed, more]).toEqual([ids, [true, true, false]]);
  expect((await stripe.witness('GET', '/sandbox/refunds?limit=1000')).json).toEqual({ data: [], has_more: false });
  for (const query of ['?limit=0', '?limit=1001', '?limit=x', '?limit=2&starting_after=ch_none'])
    expect([query, (await list(query)).status]).toEqual([query, 400]);
});
