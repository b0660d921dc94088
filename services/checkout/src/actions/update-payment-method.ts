import { Failure } from '@eligo/failures';
import { type Scope, withTx } from '@eligo/postgres';
import type { Context } from '../context.ts';
import { mayCorrect } from '../domain/card-kind.ts';
import type { PaymentMethod } from '../domain/payment-method.ts';
import { lockPaymentMethod, saveCardKind } from '../store/payment-methods.ts';

/** What a partner says of a payment method; what is left out stays. */
export interface PaymentMethodChange {
  readonly hsaFsa: boolean | undefined;
}

/**
 * Records a partner's statement whether a card is a health card. It replaces what a shopper said; a statement against the processor's word or the
 * operator's list is refused (`conflict`), and one that agrees with them changes nothing.
 */
export async function updatePaymentMethod(
  { database }: Pick<Context, 'database'>,
  scope: Scope,
  id: string,
  { hsaFsa }: PaymentMethodChange,
): Promise<PaymentMethod> {
  return withTx(database, scope, async (tx) => {
    const method = await lockPaymentMethod(tx, scope, id);
    if (method === undefined) throw new Failure('payment_method_not_found');
    if (hsaFsa === undefined) return method;
    const { card } = method;
    if (mayCorrect(card.hsaFsaSource, 'partner')) {
      return saveCardKind(tx, scope, method, { hsaFsa, hsaFsaSource: 'partner' });
    }
    if (card.hsaFsa === hsaFsa) return method;
    throw new Failure('conflict', {
      detail: 'The processor or the list of issuer ranges says otherwise of this card. Read its hsa_fsa_source.',
    });
  });
}
