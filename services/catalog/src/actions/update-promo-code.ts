import { Failure } from '@eligo/failures';
import { withTx } from '@eligo/postgres';
import type { Asker, Context } from '../context.ts';
import type { Metadata } from '../domain/field-rules.ts';
import type { PromoCode } from '../domain/promo-code.ts';
import { findPromoCode, updatePromoCode as update } from '../store/promo-codes.ts';
import { refusingTakenCode } from './create-promo-code.ts';

export async function updatePromoCode(
  { database }: Context,
  { scope }: Asker,
  id: string,
  change: { readonly active: boolean | undefined; readonly metadata: Metadata | undefined },
): Promise<PromoCode> {
  return refusingTakenCode(() =>
    withTx(database, scope, async (tx) => {
      await update(tx, scope, id, change.active ?? null, change.metadata ?? null);
      const promoCode = await findPromoCode(tx, scope, id);
      if (promoCode === undefined) throw new Failure('promo_code_not_found');
      return promoCode;
    }),
  );
}
