import { type Db, type Scope, scoped } from '@eligo/postgres';
import type { CardKind } from '../domain/card-kind.ts';

/** What the card of each of these intents was taken for when it was charged. An attempt of an earlier release says nothing, and is left out. */
export async function kindsOfChargedCards(
  db: Db,
  scope: Scope,
  paymentIntentIds: readonly string[],
): Promise<ReadonlyMap<string, CardKind>> {
  const rows = await db.rows(select, scope, [paymentIntentIds]);
  return new Map(rows.map((row) => [row.payment_intent_id, row.card_kind]));
}

// An intent has one attempt, which is written with it.
const select = scoped<{ payment_intent_id: string; card_kind: CardKind }>(
  'checkout.kinds_of_charged_cards',
  `select payment_intent_id, card_kind from checkout.charge_attempts
   where account_id = $1 and test_mode = $2 and payment_intent_id = any($3::text[]) and card_kind is not null`,
);
