import { Failure } from '@eligo/failures';
import { centsFromInt64 } from '@eligo/values';
import type { Asker, Context } from '../context.ts';
import { type EligibilityDecision, type EligibilitySubject, subjectOf } from '../domain/eligibility.ts';
import { isEligible } from '../domain/eligibility-class.ts';
import { gtin14, gtin14OfUpc } from '../domain/product-code.ts';
import { badReference } from '../domain/reference.ts';
import { findPrices } from '../store/prices.ts';
import { findProducts } from '../store/products.ts';
import { decideAll } from './decide-eligibility.ts';

/** What is asked about: a record of the account, or a bare code. */
export interface EligibilityQuestion {
  readonly item:
    | { readonly kind: 'product'; readonly id: string }
    | { readonly kind: 'price'; readonly id: string }
    | { readonly kind: 'upc_code'; readonly code: string }
    | { readonly kind: 'gtin'; readonly code: string };
  readonly quantity: bigint;
  readonly unitAmountCents: bigint | undefined;
}

/** The decision, and how much of the item is eligible; undefined when nothing says what it costs. */
export interface EligibilityAnswer {
  readonly decision: EligibilityDecision;
  readonly amountEligibleCents: bigint | undefined;
}

/** Items that are judged as of one time. */
export interface EligibilityRequest {
  readonly questions: readonly EligibilityQuestion[];
  readonly at: Date;
}

/** The class of each item as of `at` and its eligible amount, without a session. Archived records are judged like others. */
export async function evaluateEligibility(
  context: Context,
  asker: Asker,
  questions: readonly EligibilityQuestion[],
  at: Date = context.clock.now(),
): Promise<EligibilityAnswer[]> {
  return answersOf(context, asker, questions, await loadSubjects(context, asker, questions), at);
}

/** The same for several requests, in their order. Their records are read together. */
export async function evaluateTogether(
  context: Context,
  asker: Asker,
  requests: readonly EligibilityRequest[],
): Promise<EligibilityAnswer[][]> {
  const loaded = await loadSubjects(
    context,
    asker,
    requests.flatMap(({ questions }) => questions),
  );
  let from = 0;
  return Promise.all(
    requests.map(({ questions, at }) => {
      const own = loaded.slice(from, from + questions.length);
      from += questions.length;
      return answersOf(context, asker, questions, own, at);
    }),
  );
}

async function answersOf(
  context: Context,
  asker: Asker,
  questions: readonly EligibilityQuestion[],
  loaded: readonly LoadedSubject[],
  at: Date,
): Promise<EligibilityAnswer[]> {
  const decisions = await decideAll(
    context.database,
    asker,
    loaded.map(({ subject }) => subject),
    at,
  );
  return questions.map((question, index) => {
    const decision = decisions[index];
    if (decision === undefined) throw new Error('An item has no eligibility decision');
    const unitAmount = question.unitAmountCents ?? loaded[index]?.unitAmountCents;
    return { decision, amountEligibleCents: amountOf(decision, unitAmount, question.quantity) };
  });
}

interface LoadedSubject {
  readonly subject: EligibilitySubject;
  readonly unitAmountCents: bigint | undefined;
}

async function loadSubjects(
  { database }: Context,
  { scope }: Asker,
  questions: readonly EligibilityQuestion[],
): Promise<LoadedSubject[]> {
  const idsOf = (kind: 'price' | 'product') =>
    questions.flatMap(({ item }) => (item.kind === kind && 'id' in item ? [item.id] : []));
  const priceIds = idsOf('price');
  const prices = priceIds.length === 0 ? [] : await findPrices(database, scope, priceIds);
  const productIds = [...new Set([...idsOf('product'), ...prices.map(({ productId }) => productId)])];
  const products = productIds.length === 0 ? [] : await findProducts(database, scope, productIds);
  const priceById = new Map(prices.map((price) => [price.priceId, price]));
  const productById = new Map(products.map((product) => [product.productId, product]));

  return questions.map(({ item }, index) => {
    const loc = ['body', 'items', String(index), item.kind];
    if (item.kind === 'upc_code' || item.kind === 'gtin') {
      const code = item.kind === 'gtin' ? gtin14(item.code) : gtin14OfUpc(item.code);
      if (code === undefined)
        throw Failure.invalid(loc, 'product_code_invalid', 'Must be a product code with a valid check digit');
      const subject = { priceEligibility: null, productEligibility: null, codes: [code], componentIds: [] };
      return { subject, unitAmountCents: undefined };
    }
    const price = item.kind === 'price' ? priceById.get(item.id) : undefined;
    if (item.kind === 'price' && price === undefined) throw badReference(loc, 'price_not_found', item.id);
    const product = productById.get(price?.productId ?? item.id);
    if (product === undefined) throw badReference(loc, 'product_not_found', item.id);
    return { subject: subjectOf(product, price), unitAmountCents: price?.unitAmountCents };
  });
}

function amountOf(decision: EligibilityDecision, unitAmount: bigint | undefined, quantity: bigint): bigint | undefined {
  if (unitAmount === undefined) return undefined;
  if (!isEligible(decision.eligibility)) return 0n;
  const amount = unitAmount * quantity;
  centsFromInt64(amount);
  return amount;
}
