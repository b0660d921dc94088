import { Failure, type FailureCode } from '@eligo/failures';
import { allocate, type Cents, cents, sumCents } from '@eligo/values';

/** A line of a session, with what can be taken of it at most and what has been taken. `paymentIntentId` is null for a line that no card of ours pays. */
export interface DividedLine {
  readonly id: string;
  /** The line that this is one card's part of. */
  readonly lineId?: string;
  readonly priceId: string;
  readonly productId: string;
  readonly paymentIntentId: string | null;
  readonly limitCents: Cents;
  readonly takenCents: Cents;
  readonly taxCents: Cents;
  readonly shippingCents: Cents;
  readonly discountCents: Cents;
  /** It costs nothing, so that no card pays it. */
  readonly isFree?: boolean;
}

/** A card: what can be taken of it at most and what has been taken. */
export interface DividedCard {
  readonly paymentIntentId: string;
  readonly paymentMethodId: string;
  readonly limitCents: Cents;
  readonly takenCents: Cents;
  /** What cannot be taken of it for now, such as what a dispute holds. */
  readonly heldCents?: Cents;
}

/** Tax, shipping and discount, in cents. */
export interface Components {
  readonly tax: Cents;
  readonly shipping: Cents;
  readonly discount: Cents;
}

export interface DividedSession {
  readonly lines: readonly DividedLine[];
  readonly cards: readonly DividedCard[];
  readonly limit: Components;
  readonly taken: Components;
  readonly refusals: AllocationRefusals;
  /** What the client's own rounding may ask for beyond all that remains. It is left out (decisions 14.160). */
  readonly roundingCents?: Cents;
}

/** The codes of the refusals: what is allocated is a refund or a capture. */
export interface AllocationRefusals {
  /** Nothing can be taken of the session at all. */
  readonly nothing: FailureCode;
  /** More is asked for than remains. */
  readonly exceeds: FailureCode;
  readonly invalid: FailureCode;
  /** The text for a session of which nothing remains. */
  readonly nothingRemains: string;
}

/** One entry of a request's `line_items`; an amount may be 0 or negative, and entries of one price add up (decisions 1.10). */
export interface LineEntry {
  readonly priceId?: string | undefined;
  readonly productId?: string | undefined;
  readonly amount: Cents;
}

export interface Instruction {
  readonly amount?: Cents | undefined;
  /** If less than the amount remains, take what remains. */
  readonly atMost?: boolean;
  readonly entries: readonly LineEntry[];
  readonly tax?: Cents | undefined;
  readonly shipping?: Cents | undefined;
  readonly discount?: Cents | undefined;
  readonly methods: readonly { readonly paymentMethodId: string; readonly amount: Cents }[];
}

export interface Allocation extends Components {
  readonly amount: Cents;
  readonly lines: readonly { readonly lineId: string; readonly paymentIntentId: string; readonly amount: Cents }[];
  readonly cards: readonly { readonly paymentIntentId: string; readonly amount: Cents }[];
}

const zero = cents(0);

/**
 * Takes a refund or a capture apart into lines and cards. Each line is filled to its limit less what was taken before, an excess moves to other
 * lines of the same card, and no card gives more than its own (decisions 1.10, 6 and 13). Throws the refusals of the session.
 */
export function allocateOverLines(session: DividedSession, instruction: Instruction): Allocation {
  if (sumCents(session.cards.map((card) => card.limitCents)) === 0) {
    throw new Failure(session.refusals.nothing);
  }
  requireCountable(session, instruction);
  const remaining = sumCents(session.cards.map(restOfCard));
  const components = componentsOf(session, instruction);
  const fills = new LineFills(session);
  if (instruction.entries.length > 0) fillEntries(fills, session, instruction, components, remaining);
  else if (instruction.amount !== undefined)
    fillAmount(
      fills,
      session,
      instruction,
      amountOf(instruction.amount, session, instruction, remaining),
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
export function requireCountable({ refusals }: DividedSession, { entries, methods }: Instruction): void {
  const lines = entries.map((entry) => entry.amount);
  const added = lines.filter((amount) => amount > 0);
  const taken = lines.filter((amount) => amount < 0);
  for (const amounts of [added, taken, methods.map((method) => method.amount)]) {
    if (Number.isSafeInteger(amounts.reduce((sum, amount) => sum + amount, 0))) continue;
    throw new Failure(refusals.invalid, { detail: 'The sum of the amounts is too large.' });
  }
}

export function amountOf(amount: Cents, session: DividedSession, instruction: Instruction, remaining: Cents): Cents {
  const isWhole = instruction.atMost === true || amount <= remaining + roundingOf(session, instruction, remaining);
  return isWhole && remaining > 0 && remaining < amount ? remaining : amount;
}

// A client that names the cards has the amount of each card, and rounds nothing.
function roundingOf({ roundingCents }: DividedSession, { methods }: Instruction, remaining: Cents): number {
  return methods.length === 0 && remaining > 0 ? (roundingCents ?? 0) : 0;
}

export function restOfCard(card: DividedCard): Cents {
  return cents(Math.max(0, card.limitCents - card.takenCents - (card.heldCents ?? 0)));
}

export function restOfLine(line: DividedLine): Cents {
  return line.paymentIntentId === null ? zero : cents(line.limitCents - line.takenCents);
}

function statesComponents(instruction: Instruction): boolean {
  return instruction.tax !== undefined || instruction.shipping !== undefined || instruction.discount !== undefined;
}

export function componentsOf(session: DividedSession, instruction: Instruction): Components {
  const components = {
    tax: instruction.tax ?? zero,
    shipping: instruction.shipping ?? zero,
    discount: instruction.discount ?? zero,
  };
  for (const name of ['tax', 'shipping', 'discount'] as const) {
    if (components[name] < 0) throw new Failure(session.refusals.invalid);
    if (session.taken[name] + components[name] > session.limit[name]) {
      throw new Failure(session.refusals.exceeds, {
        detail: `amount_${name} exceeds its remaining balance.`,
      });
    }
  }
  return components;
}

export function requireWithin({ refusals }: DividedSession, total: number, remaining: Cents): void {
  if (total <= 0) throw new Failure(refusals.invalid);
  if (total > remaining) throw new Failure(refusals.exceeds);
}

// What is taken of each line so far, never beyond what remains of it.
export class LineFills {
  readonly amounts = new Map<string, number>();
  readonly session: DividedSession;

  constructor(session: DividedSession) {
    this.session = session;
  }

  // Fills `lines` in their order and returns what did not fit.
  fill(lines: readonly DividedLine[], amount: number): number {
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
  fillShares(shares: readonly { lines: readonly DividedLine[]; amount: number }[], whole?: { beyond: number }): void {
    const excesses = shares.map((share) => ({ share, excess: this.fill(share.lines, share.amount) }));
    let beyond = whole?.beyond ?? 0;
    for (const { share, excess } of excesses) {
      if (excess <= 0) continue;
      const cards = new Set(share.lines.map((line) => line.paymentIntentId));
      const sameCard = this.session.lines.filter(
        (line) => line.paymentIntentId !== null && cards.has(line.paymentIntentId),
      );
      // A client's rounding may leave a cent on a free line, and, of the whole, on another card's line: any other line has it.
      const isRounded = excess === 1 && (whole !== undefined || share.lines.every(({ isFree }) => isFree));
      beyond -= this.fill(isRounded ? this.session.lines : sameCard, excess);
      if (beyond < 0) throw new Failure(this.session.refusals.exceeds);
    }
  }
}

function fillEntries(
  fills: LineFills,
  session: DividedSession,
  instruction: Instruction,
  components: Components,
  remaining: Cents,
): void {
  const groups = groupEntries(session, instruction.entries);
  const extra = components.tax + components.shipping - components.discount;
  const stated = groups.reduce((sum, group) => sum + group.amount, 0);
  if (instruction.amount !== undefined && instruction.amount !== stated + extra) {
    throw new Failure(session.refusals.invalid, { detail: 'amount must equal the sum of the lines and components.' });
  }
  const rounding = roundingOf(session, instruction, remaining);
  requireWithin(session, stated + extra, cents(remaining + rounding));
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
    rounding > 0 && stated + extra >= remaining - rounding
      ? { beyond: Math.max(0, stated + extra - remaining) }
      : undefined,
  );
}

function groupEntries(
  session: DividedSession,
  entries: readonly LineEntry[],
): { lines: readonly DividedLine[]; amount: number }[] {
  const groups = new Map<string, { lines: readonly DividedLine[]; amount: number }>();
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
  session: DividedSession,
  instruction: Instruction,
  amount: Cents,
  components: Components,
  remaining: Cents,
): void {
  requireWithin(session, amount, remaining);
  if (components.tax + components.shipping > amount) {
    throw new Failure(session.refusals.invalid, { detail: 'The components exceed the amount.' });
  }
  if (instruction.methods.length > 0 && sumCents(instruction.methods.map((method) => method.amount)) !== amount) {
    throw new Failure(session.refusals.invalid, { detail: 'payment_methods must add up to the amount.' });
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
  session: DividedSession,
  instruction: Instruction,
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
    if (method.amount > restOfCard(card)) throw new Failure(session.refusals.exceeds);
    return { paymentIntentId: card.paymentIntentId, share: method.amount };
  });
}

// Spreads a card's share over its lines by what is left of each.
function fillCard(fills: LineFills, lines: readonly DividedLine[], share: Cents): void {
  if (share === 0) return;
  const parts = allocate(share, lines.map(restOfLine));
  fills.fillShares(lines.map((line, index) => ({ lines: [line], amount: parts[index] ?? 0 })));
}

function fillComponents(fills: LineFills, session: DividedSession, components: Components, remaining: Cents): void {
  requireWithin(session, components.tax + components.shipping - components.discount, remaining);
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

function allocateRest(fills: LineFills, session: DividedSession, remaining: Cents): Allocation {
  if (remaining === 0) throw new Failure(session.refusals.exceeds, { detail: session.refusals.nothingRemains });
  fillRest(fills, session);
  // What is left of one card is not what is left of the session: its tax and shipping are on the other card's lines, too.
  const isAll = session.lines.every((line) => line.limitCents - line.takenCents === (fills.amounts.get(line.id) ?? 0));
  const rest = (name: keyof Components) => (isAll ? cents(session.limit[name] - session.taken[name]) : zero);
  return {
    ...collect(fills),
    tax: rest('tax'),
    shipping: rest('shipping'),
    discount: rest('discount'),
  };
}

/** Fills each line with what remains of it, as far as its card has it. */
export function fillRest(fills: LineFills, session: DividedSession): void {
  for (const card of session.cards) {
    const lines = session.lines.filter((line) => line.paymentIntentId === card.paymentIntentId);
    const rest = sumCents(lines.map(restOfLine));
    fillCard(fills, lines, cents(Math.min(rest, restOfCard(card))));
  }
}

export function finish(
  fills: LineFills,
  session: DividedSession,
  instruction: Instruction,
  components: Components,
): Allocation {
  const allocation = { ...collect(fills), ...components };
  const isWithin = (card: DividedCard) =>
    (allocation.cards.find((part) => part.paymentIntentId === card.paymentIntentId)?.amount ?? 0) <= restOfCard(card);
  if (!session.cards.every(isWithin)) throw new Failure(session.refusals.exceeds);
  if (instruction.methods.length > 0) {
    const stated = new Map<string | undefined, number>();
    for (const { paymentIntentId, share } of sharesByMethod(session, instruction)) {
      stated.set(paymentIntentId, (stated.get(paymentIntentId) ?? 0) + share);
    }
    const differs = allocation.cards.some((card) => stated.get(card.paymentIntentId) !== card.amount);
    if (differs || sumCents(instruction.methods.map((method) => method.amount)) !== allocation.amount) {
      throw new Failure(session.refusals.invalid, { detail: 'payment_methods must add up to the allocated amount.' });
    }
  }
  return allocation;
}

function collect(fills: LineFills): Pick<Allocation, 'amount' | 'lines' | 'cards'> {
  const lines: { lineId: string; paymentIntentId: string; amount: Cents }[] = [];
  const cards = new Map<string, number>();
  for (const line of fills.session.lines) {
    const amount = fills.amounts.get(line.id) ?? 0;
    if (amount === 0 || line.paymentIntentId === null) continue;
    lines.push({ lineId: line.lineId ?? line.id, paymentIntentId: line.paymentIntentId, amount: cents(amount) });
    cards.set(line.paymentIntentId, (cards.get(line.paymentIntentId) ?? 0) + amount);
  }
  return {
    amount: sumCents(lines.map((line) => line.amount)),
    lines,
    cards: [...cards].map(([paymentIntentId, amount]) => ({ paymentIntentId, amount: cents(amount) })),
  };
}
