import { type Constellation, waitUntil } from '@eligo/testkit';
import { newId } from '@eligo/values';
import { expect, it } from 'vitest';
import { advanceClock } from '../src/advance-clock.ts';
import { text } from '../src/records.ts';
import { runCli } from '../src/run-cli.ts';
import { make, newCard, newCustomer } from '../src/shop.ts';

/** Food that was sold by the food policy, renewed while the account has the feature, after it lost it, and once it has it again. */
export function describeRenewedFood(started: () => Constellation): void {
  it('food is renewed by what the account can do today: on the other card once it has lost food_eligibility, and on the health card again [D14.90, D14.355]', async () => {
    const eligo = started();
    const made = await runCli(eligo, ['accounts', 'create', '--name', 'Grocer', '--feature', 'food_eligibility']);
    const account = text(made, 'account');
    const grocer = eligo.api(text(made, 'test_api_key'));
    const component = await make(grocer, '/v1/product_components', 'product_component', {
      ...{ name: `Rolled oats ${newId('request')}`, category: 'base', nutrition_basis: 'per_100g' },
      nutrition: { calories: 380, added_sugar_g: 0, sodium_mg: 5, saturated_fat_g: 1, trans_fat_g: 0 },
    });
    const product_data = { name: 'Oats', components: [text(component, 'component_id')] };
    const price = await make(grocer, '/v1/prices', 'price', {
      ...{ product_data, unit_amount: 900, recurring: { interval: 'month' } },
    });
    const frozen_time = '2027-01-01T00:00:00Z';
    const clock = text(
      await make(grocer, '/v1/test_helpers/test_clocks', 'test_clock', { frozen_time }),
      'test_clock_id',
    );
    const customer = await newCustomer(grocer, { test_clock: clock });
    const [hsa, credit] = [await newCard(grocer, customer, 'hsa'), await newCard(grocer, customer, 'credit')];
    const sold = await make(grocer, '/v1/subscriptions', 'subscription', {
      ...{ customer, default_payment_method: hsa, backup_payment_method: credit },
      items: [{ price: text(price, 'price_id'), quantity: 1 }],
    });
    expect(sold.status).toBe('active');
    const setFeature = async (option: '--feature' | '--no-feature') => {
      await runCli(eligo, ['accounts', 'update', account, option, 'food_eligibility']);
      const isTold = async () => {
        const rows = await eligo.database.admin<{ features: string[] }>(
          'select features from billing.account_features where account_id = $1',
          [account],
        );
        return rows.length === 2 && rows.every(({ features }) => features.length === (option === '--feature' ? 1 : 0));
      };
      await waitUntil(isTold, { withinMs: 20_000, what: 'what the account can do, at billing' });
    };
    const advance = async (time: string) => expect((await advanceClock(grocer, clock, time)).status).toBe(200);
    await advance('2027-02-01T00:00:00Z');
    await setFeature('--no-feature');
    await advance('2027-03-01T00:00:00Z');
    await setFeature('--feature');
    await advance('2027-04-01T00:00:00Z');
    const lines = await eligo.database.admin(
      `select l.eligibility, l.rule, l.eligible_cents::int as eligible, c.leg, c.amount_cents::int as cents, c.payment_method_id as card
         from billing.invoices i join billing.invoice_lines l on l.invoice_id = i.id
         join billing.invoice_charges c on c.invoice_id = i.id and c.status = 'succeeded'
        where i.subscription_id = $1 order by i.number`,
      [text(sold, 'subscription_id')],
    );
    const byHealthCard = {
      ...{ eligibility: 'auto_substantiation', rule: 'food_policy', eligible: 900 },
      ...{ leg: 'health', cents: 900, card: hsa },
    };
    expect(lines).toEqual([
      byHealthCard,
      byHealthCard,
      { eligibility: null, rule: 'none', eligible: 0, leg: 'other', cents: 900, card: credit },
      byHealthCard,
    ]);
  }, 60_000);
}
