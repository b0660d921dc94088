import { Failure } from '@eligo/failures';
import { allocate, type Cents, cents, sumCents } from '@eligo/values';

/** A line of a session as a refund sees it. `paymentIntentId` is null for a line that no card of ours paid. */
export interface RefundableLine {
  readonly id: string;
  readonly priceId: string;
  readonly productId: string;
  readonly paymentIntentId: string | null;
  readonly capturedCents: Cents;
  readonly refundedCents: Cents;
  readonly taxCents: Cents;
  readonly shippingCents: Cents;
  readonly discountCents: Cents;
}

/** A card that paid: what it paid and what has been refunded to it. */
export interface RefundableCard {
  readonly paymentIntentId: string;
  readonly paymentMethodId: string;
  readonly receivedCents: Cents;
  readonly refundedCents: Cents;
}

/** Tax, shipping and discount, in cents. */
export interface RefundComponents {
  readonly tax: Cents;
  readonly shipping: Cents;
  readonly discount: Cents;
}

export interface RefundableSession {
  readonly lines: readonly RefundableLine[];
  readonly cards: readonly RefundableCard[];
  readonly captured: RefundComponents;
  readonly refunded: RefundComponents;
}

/** One entry of a request's `line_items`; an amount may be 0 or negative, and entries of one price add up (decisions 1.10). */
export interface RefundEntry {
  readonly priceId?: string | undefined;
  readonly productId?: string | undefined;
  readonly amount: Cents;
}

export interface RefundInstruction {
  readonly amount?: Cents | undefined;
  /** If the remaining balance is less than the amount, refund the remaining balance. */
  readonly atMost?: boolean;
  readonly entries: readonly RefundEntry[];
  readonly tax?: Cents | undefined;
  readonly shipping?: Cents | undefined;
  readonly discount?: Cents | undefined;
  readonly methods: readonly { readonly paymentMethodId: string; readonly amount: Cents }[];
}

export interface RefundAllocation extends RefundComponents {
  readonly amount: Cents;
  readonly lines: readonly { readonly lineId: string; readonly paymentIntentId: string; readonly amount: Cents }[];
  readonly cards: readonly { readonly paymentIntentId: string; readonly amount: Cents }[];
}

const zero = cents(0);

/**
 * Takes a refund apart into lines and cards. Money goes back to the card that paid it, each line is filled to what was captured for it less
 * what was refunded, an excess moves to other lines of the same card, and no card refunds more than it paid (decisions 1.10, 6 and 13).
 * Throws `checkout_session_not_captured`, `refund_amount_invalid` or `refund_amount_exceeds_remaining`.
 */
export function allocateRefund(session: RefundableSession, instruction: RefundInstruction): RefundAllocation {
  if (sumCents(session.cards.map((card) => card.receivedCents)) === 0) {
    throw new Failure('checkout_session_not_captured');
  }
  requireCountable(instruction);
  const remaining = sumCents(session.cards.map(restOfCard));
  const components = componentsOf(session, instruction);
  const fills = new LineFills(session.lines);
  if (instruction.entries.length > 0) fillEntries(fills, session, instruction, components, remaining);
  else if (instruction.amount !== undefined)
    fillAmount(
      fills,
      session,
      instruction,
      amountOf(instruction.amount, instruction, remaining),
      components,
      remaining,
    );
  else if (statesComponents(instruction)) fillComponents(fills, session, components, remaining);
  else if (instruction.methods.length > 0) {
    // Cards with their amounts and nothing else: what they add up to is the refund.
    const amount = sumCents(instruction.methods.map((method) => method.amount));
    fillAmount(fills, session, instruction, amount, components, remaining);
  } else return allocateRest(fills, session, remaining);
  return finish(fills, session, instruction, components);
}

// Each amount stated is a safe integer, their sum need not be. Lines net each other, so what adds and what takes away is bounded by itself.
function requireCountable({ entries, methods }: RefundInstruction): void {
  const lines = entries.map((entry) => entry.amount);
  const added = lines.filter((amount) => amount > 0);
  const taken = lines.filter((amount) => amount < 0);
  for (const amounts of [added, taken, methods.map((method) => method.amount)]) {
    if (Number.isSafeInteger(amounts.reduce((sum, amount) => sum + amount, 0))) continue;
    throw new Failure('refund_amount_invalid', { detail: 'The sum of the amounts is too large.' });
  }
}

function amountOf(amount: Cents, { atMost }: RefundInstruction, remaining: Cents): Cents {
  return atMost === true && remaining > 0 && remaining < amount ? remaining : amount;
}

function restOfCard(card: RefundableCard): Cents {
  return cents(card.receivedCents - card.refundedCents);
}

function restOfLine(line: RefundableLine): Cents {
  return line.paymentIntentId === null ? zero : cents(line.capturedCents - line.refundedCents);
}

function statesComponents(instruction: RefundInstruction): boolean {
  return instruction.tax !== undefined || instruction.shipping !== undefined || instruction.discount !== undefined;
}

function componentsOf(session: RefundableSession, instruction: RefundInstruction): RefundComponents {
  const components = {
    tax: instruction.tax ?? zero,
    shipping: instruction.shipping ?? zero,
    discount: instruction.discount ?? zero,
  };
  for (const name of ['tax', 'shipping', 'discount'] as const) {
    if (components[name] < 0) throw new Failure('refund_amount_invalid');
    if (session.refunded[name] + components[name] > session.captured[name]) {
      throw new Failure('refund_amount_exceeds_remaining', {
        detail: `amount_${name} exceeds its remaining balance.`,
      });
    }
  }
  return components;
}

function requireWithin(total: number, remaining: Cents): void {
  if (total <= 0) throw new Failure('refund_amount_invalid');
  if (total > remaining) throw new Failure('refund_amount_exceeds_remaining');
}

// What each line refunds so far, never beyond its remaining balance.
class LineFills {
  readonly amounts = new Map<string, number>();
  readonly lines: readonly RefundableLine[];

  constructor(lines: readonly RefundableLine[]) {
    this.lines = lines;
  }

  // Fills `lines` in their order and answers what did not fit.
  fill(lines: readonly RefundableLine[], amount: number): number {
    let left = amount;
    for (const line of lines) {
      if (left <= 0) break;
      const filled = this.amounts.get(line.id) ?? 0;
      const part = Math.min(left, restOfLine(line) - filled);
      if (part <= 0) continue;
      this.amounts.set(line.id, filled + part);
      left -= part;
    }
    return left;
  }

  // Fills each share from its own lines first and then its excess from the other lines of the same cards.
  fillShares(shares: readonly { lines: readonly RefundableLine[]; amount: number }[]): void {
    const excesses = shares.map((share) => ({ share, excess: this.fill(share.lines, share.amount) }));
    for (const { share, excess } of excesses) {
      if (excess <= 0) continue;
      const cards = new Set(share.lines.map((line) => line.paymentIntentId));
      const sameCard = this.lines.filter((line) => line.paymentIntentId !== null && cards.has(line.paymentIntentId));
      if (this.fill(sameCard, excess) > 0) throw new Failure('refund_amount_exceeds_remaining');
    }
  }
}

function fillEntries(
  fills: LineFills,
  session: RefundableSession,
  instruction: RefundInstruction,
  components: RefundComponents,
  remaining: Cents,
): void {
  const groups = groupEntries(session, instruction.entries);
  const extra = components.tax + components.shipping - components.discount;
  const stated = groups.reduce((sum, group) => sum + group.amount, 0);
  if (instruction.amount !== undefined && instruction.amount !== stated + extra) {
    throw new Failure('refund_amount_invalid', { detail: 'amount must equal the sum of the lines and components.' });
  }
  requireWithin(stated + extra, remaining);
  const positive = groups.filter((group) => group.amount > 0);
  const takers = positive.length > 0 ? positive : groups;
  const negative = groups.reduce((sum, group) => sum + Math.min(group.amount, 0), 0);
  const shifts = allocate(
    cents(extra + negative),
    takers.map((group) => Math.max(group.amount, 0)),
  );
  fills.fillShares(
    takers.map((group, index) => ({
      lines: group.lines,
      amount: Math.max(group.amount, 0) + (shifts[index] ?? 0),
    })),
  );
}

function groupEntries(
  session: RefundableSession,
  entries: readonly RefundEntry[],
): { lines: readonly RefundableLine[]; amount: number }[] {
  const groups = new Map<string, { lines: readonly RefundableLine[]; amount: number }>();
  for (const [index, entry] of entries.entries()) {
    const by = entry.priceId === undefined ? 'product' : 'price';
    const id = entry.priceId ?? entry.productId ?? '';
    const group = groups.get(id) ?? { lines: session.lines.filter((line) => line[`${by}Id`] === id), amount: 0 };
    if (group.lines.length === 0) {
      const loc = ['body', 'checkout_session', 'line_items', String(index), by];
      throw Failure.invalid(loc, `${by}_not_found`, `${by}_not_found: ${id}`);
    }
    group.amount += entry.amount;
    groups.set(id, group);
  }
  return [...groups.values()];
}

function fillAmount(
  fills: LineFills,
  session: RefundableSession,
  instruction: RefundInstruction,
  amount: Cents,
  components: RefundComponents,
  remaining: Cents,
): void {
  requireWithin(amount, remaining);
  if (components.tax + components.shipping > amount) {
    throw new Failure('refund_amount_invalid', { detail: 'The components exceed the amount.' });
  }
  if (instruction.methods.length > 0 && sumCents(instruction.methods.map((method) => method.amount)) !== amount) {
    throw new Failure('refund_amount_invalid', { detail: 'payment_methods must add up to the amount.' });
  }
  const shares =
    instruction.methods.length > 0
      ? sharesByMethod(session, instruction)
      : allocate(amount, session.cards.map(restOfCard)).map((share, index) => ({
          paymentIntentId: session.cards[index]?.paymentIntentId,
          share,
        }));
  for (const { paymentIntentId, share } of shares) {
    fillCard(
      fills,
      session.lines.filter((line) => line.paymentIntentId === paymentIntentId),
      share,
    );
  }
}

function sharesByMethod(
  session: RefundableSession,
  instruction: RefundInstruction,
): { paymentIntentId: string; share: Cents }[] {
  return instruction.methods.map((method, index) => {
    const card = session.cards.find((candidate) => candidate.paymentMethodId === method.paymentMethodId);
    if (card === undefined) {
      throw Failure.invalid(
        ['body', 'checkout_session', 'payment_methods', String(index), 'payment_method_id'],
        'payment_method_not_found',
        `payment_method_not_found: ${method.paymentMethodId}`,
      );
    }
    if (method.amount > restOfCard(card)) throw new Failure('refund_amount_exceeds_remaining');
    return { paymentIntentId: card.paymentIntentId, share: method.amount };
  });
}

// Spreads a card's share over its lines by what is left of each.
function fillCard(fills: LineFills, lines: readonly RefundableLine[], share: Cents): void {
  if (share === 0) return;
  const parts = allocate(share, lines.map(restOfLine));
  fills.fillShares(lines.map((line, index) => ({ lines: [line], amount: parts[index] ?? 0 })));
}

function fillComponents(
  fills: LineFills,
  session: RefundableSession,
  components: RefundComponents,
  remaining: Cents,
): void {
  requireWithin(components.tax + components.shipping - components.discount, remaining);
  const lines = session.lines.filter((line) => line.paymentIntentId !== null);
  const tax = allocate(
    components.tax,
    lines.map((line) => line.taxCents),
  );
  const shipping = allocate(
    components.shipping,
    lines.map((line) => line.shippingCents),
  );
  const added = lines.map((_, index) => (tax[index] ?? 0) + (shipping[index] ?? 0));
  const taken = allocate(components.discount, added);
  fills.fillShares(lines.map((line, index) => ({ lines: [line], amount: (added[index] ?? 0) - (taken[index] ?? 0) })));
}

function allocateRest(fills: LineFills, session: RefundableSession, remaining: Cents): RefundAllocation {
  if (remaining === 0)
    throw new Failure('refund_amount_exceeds_remaining', { detail: 'The session has no remaining balance to refund.' });
  fills.fillShares(session.lines.map((line) => ({ lines: [line], amount: restOfLine(line) })));
  // What is left of one card is not what is left of the session: its tax and shipping are on the other card's lines, too.
  const isAll = session.lines.every(
    (line) => line.capturedCents - line.refundedCents === (fills.amounts.get(line.id) ?? 0),
  );
  const rest = (name: keyof RefundComponents) =>
    isAll ? cents(session.captured[name] - session.refunded[name]) : zero;
  return {
    ...collect(fills),
    tax: rest('tax'),
    shipping: rest('shipping'),
    discount: rest('discount'),
  };
}

function finish(
  fills: LineFills,
  session: RefundableSession,
  instruction: RefundInstruction,
  components: RefundComponents,
): RefundAllocation {
  const allocation = { ...collect(fills), ...components };
  if (instruction.methods.length > 0) {
    const stated = new Map<string | undefined, number>();
    for (const { paymentIntentId, share } of sharesByMethod(session, instruction)) {
      stated.set(paymentIntentId, (stated.get(paymentIntentId) ?? 0) + share);
    }
    const differs = allocation.cards.some((card) => stated.get(card.paymentIntentId) !== card.amount);
    if (differs || sumCents(instruction.methods.map((method) => method.amount)) !== allocation.amount) {
      throw new Failure('refund_amount_invalid', { detail: 'payment_methods must add up to the refunded amount.' });
    }
  }
  return allocation;
}

function collect(fills: LineFills): Pick<RefundAllocation, 'amount' | 'lines' | 'cards'> {
  const lines: { lineId: string; paymentIntentId: string; amount: Cents }[] = [];
  const cards = new Map<string, number>();
  for (const line of fills.lines) {
    const amount = fills.amounts.get(line.id) ?? 0;
    if (amount === 0 || line.paymentIntentId === null) continue;
    lines.push({ lineId: line.id, paymentIntentId: line.paymentIntentId, amount: cents(amount) });
    cards.set(line.paymentIntentId, (cards.get(line.paymentIntentId) ?? 0) + amount);
  }
  return {
    amount: sumCents(lines.map((line) => line.amount)),
    lines,
    cards: [...cards].map(([paymentIntentId, amount]) => ({ paymentIntentId, amount: cents(amount) })),
  };
}
