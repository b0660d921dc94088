import { create, toJson } from '@bufbuild/protobuf';
import { Failure } from '@eligo/failures';
import { withTx } from '@eligo/postgres';
import type { CartLine } from '@eligo/proto/catalog/v1/catalog';
import {
  PaymentLinkLineSchema,
  type PaymentLink as PaymentLinkMessage,
  PaymentLinkSchema,
  type PaymentLinkTerms,
  PaymentLinkTermsSchema,
} from '@eligo/proto/checkout/v1/checkout';
import type { Call } from '@eligo/rpc';
import { newId } from '@eligo/values';
import type { Context } from '../context.ts';
import { newSession, requireTerms } from '../domain/new-session.ts';
import type { PaymentLink } from '../domain/payment-link.ts';
import { paymentLinkMessage } from '../messages/payment-link.ts';
import { insertPaymentLink } from '../store/payment-links.ts';
import { onceUnderKey, storedResponse } from './once-under-key.ts';
import { sessionRequestOfLink } from './payment-link-session.ts';
import { resolveCart } from './resolve-cart.ts';

export interface NewPaymentLink {
  readonly lines: readonly CartLine[];
  /** Without lines: they become those that the catalog finds. */
  readonly terms: PaymentLinkTerms;
  readonly active: boolean;
  readonly metadata: Readonly<Record<string, string>>;
}

/**
 * Creates a payment link. It makes a session of the link's cart and drops it, so that a cart that no visit could open is refused here, where the
 * partner sees why. A product stands for the price that it has now. The mode is `subscription` if one of the prices is recurring. The same key
 * and body returns the response of the first request, whatever has become of the prices since (decisions 1.1).
 */
export async function createPaymentLink(
  context: Pick<Context, 'database' | 'catalog' | 'clock' | 'pages' | 'plainCarts'>,
  call: Call,
  input: NewPaymentLink,
  key?: { readonly key: string; readonly requestHash: Uint8Array } | undefined,
): Promise<PaymentLinkMessage> {
  const { scope } = call;
  const request = { endpoint: 'POST /v1/payment_links', key, schema: PaymentLinkSchema };
  const stored = await storedResponse(context.database, scope, request);
  if (stored !== undefined) return stored;
  const link = await withLinkFields(() => makeLink(context, call, input));
  const message = paymentLinkMessage(scope, link, context.pages.urlOfLink(scope, link.id));
  return withTx(context.database, scope, (tx) =>
    onceUnderKey(tx, scope, request, async () => {
      await insertPaymentLink(tx, scope, link);
      return message;
    }),
  );
}

async function makeLink(
  context: Pick<Context, 'catalog' | 'plainCarts' | 'clock'>,
  call: Call,
  { lines, terms, active, metadata }: NewPaymentLink,
): Promise<PaymentLink> {
  const createdAt = context.clock.now();
  const id = newId('payment_link');
  const draft: PaymentLink = { id, active, mode: 'payment', terms: {}, metadata, createdAt };
  const request = sessionRequestOfLink(draft, terms);
  requireTerms(request.terms, lines.length);
  const sessionId = newId('checkout_session');
  const { cart } = await resolveCart(context, call, sessionId, { ...request.cart, lines }, null, createdAt);
  const mode = cart.lines.some((line) => line.recurring !== null) ? 'subscription' : 'payment';
  newSession(sessionId, { ...request.terms, mode }, cart, createdAt, null);
  const priced = cart.lines.map(({ priceId, quantity }) =>
    create(PaymentLinkLineSchema, { priceId, quantity: BigInt(quantity) }),
  );
  return { ...draft, mode, terms: toJson(PaymentLinkTermsSchema, { ...terms, lines: priced }) };
}

// The partner sent a link: an error about the session's cart names the field of the link's body.
async function withLinkFields<Result>(make: () => Promise<Result>): Promise<Result> {
  try {
    return await make();
  } catch (error) {
    if (!(error instanceof Failure) || error.violations === undefined) throw error;
    throw Failure.violations(
      error.violations.map(({ loc: [body, , ...rest], ...violation }) => ({
        ...violation,
        loc: [body ?? 'body', 'payment_link', ...rest],
      })),
    );
  }
}
