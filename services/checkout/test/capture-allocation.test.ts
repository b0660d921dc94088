import { Failure } from '@eligo/failures';
import { allocate, cents } from '@eligo/values';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  allHeld,
  allocateCapture,
  type CaptureAllocation,
  type CaptureInstruction,
  type HeldSession,
} from '../src/domain/capture-allocation.ts';
import type { SessionLine } from '../src/domain/session.ts';
import { clientAmounts, orders } from './client-orders.ts';
import { after, componentsLeft, type Name, names, remainingOf, restOf, sessions, stated, sum } from './held-carts.ts';

function codeOf(action: () => unknown): string | undefined {
  try {
    action();
    return undefined;
  } catch (error) {
    if (error instanceof Failure) return error.code;
    throw error;
  }
}

// Parts of what remains, in thousandths, some of them above it; null: not stated.
const part = fc.oneof(fc.constantFrom(0, 500, 1_000), fc.nat(1_000), fc.integer({ min: 1_000, max: 1_300 }));
const components = fc.record({ tax: fc.option(part), shipping: fc.option(part), discount: fc.option(part) });
const step = fc.oneof(
  fc.record({ what: fc.constant('amount' as const), part }),
  fc.record({ what: fc.constant('components' as const), components }),
  fc.record({
    ...{ what: fc.constant('lines' as const), components, byProduct: fc.boolean() },
    parts: fc.array(fc.option(part), { minLength: 6, maxLength: 6 }),
  }),
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

const ofPart = (amount: number, thousandths: number) => cents(Math.floor((amount * thousandths) / 1_000));

function instructionOf(held: HeldSession, one: Step): CaptureInstruction {
  if (one.what === 'amount') return { amount: ofPart(remainingOf(held), one.part), entries: [], isFinal: false };
  const left = componentsLeft(held);
  const some = names.flatMap((name) => {
    const asked = one.components[name];
    return asked === null ? [] : [[name, ofPart(left[name], asked)] as const];
  });
  const discounted = one.components.discount !== null;
  const lines = held.lines.flatMap((line, index) => {
    const asked = one.what === 'lines' ? (one.parts[index] ?? null) : null;
    const whole = restOf(line) + (discounted ? line.amountDiscountCents : 0);
    return asked === null ? [] : [[line, ofPart(whole, asked)] as const];
  });
  const instruction = stated(lines, Object.fromEntries(some));
  if (one.what !== 'lines' || !one.byProduct) return instruction;
  const entries = lines.map(([{ productId }, amount]) => ({ productId, amount }));
  return { ...instruction, entries };
}

/**
 * Whether an amount that is stated is above its limit, or nothing is asked for. An entry of a part may be a cent of its discount above it, and what earlier captures took of the
 * line for such cents; what takes all that remains has no limit of its lines. Sure of being accepted is only a part whose lines have room for their own components.
 */
function limitsOf(held: HeldSession, { amount, entries, ...asked }: CaptureInstruction) {
  const { tax = 0, shipping = 0, discount = 0 } = asked;
  const left = componentsLeft(held);
  const total = amount ?? sum(entries.map((entry) => entry.amount)) + tax + shipping - discount;
  const isWhole = total === remainingOf(held);
  const named = [...Map.groupBy(entries, ({ priceId, productId }) => priceId ?? productId)].map(([id, some]) => {
    const lines = held.lines.filter((line) => line.priceId === id || line.productId === id);
    const of = (amountOf: (line: SessionLine) => number) => sum(lines.map(amountOf));
    const above = sum(some.map((entry) => entry.amount)) - of(restOf);
    const own = of((line) => line.amountDiscountCents);
    const moved = of((line) => line.amountCapturedCents);
    const beside = of((line) => (tax > 0 ? line.amountTaxCents : 0) + (shipping > 0 ? line.amountShippingCents : 0));
    const cent = Number(own === 1 || (discount > 0 && own > 0)) + (moved < 2 * held.lines.length ? moved : 0);
    return { excess: Math.max(0, above), own, cent, isRoomy: above + beside <= 0 };
  });
  const isAbove = (leeway: 0 | 1) =>
    named.some(({ excess, own }) => excess > Math.min(own, discount) + leeway * sum(named.map((one) => one.cent))) ||
    sum(named.map(({ excess, cent }) => excess - leeway * cent)) > discount;
  const isBeyond = total <= 0 || total > remainingOf(held) || names.some((name) => (asked[name] ?? 0) > left[name]);
  const isRoomy = tax + shipping === 0 || named.every((one) => one.isRoomy);
  return {
    total,
    isRefused: isBeyond || (!isWhole && isAbove(1)),
    isSure: !isBeyond && (isWhole || (!isAbove(0) && isRoomy)),
  };
}

/** Throws unless what a capture takes is within each line, card and component, of the card that pays the line, and the same by lines and by cards. */
function isWithin(held: HeldSession, capture: CaptureAllocation): void {
  expect(sum(capture.lines.map(({ amount }) => amount))).toBe(capture.amount);
  expect(new Set(capture.lines.map((line) => `${line.lineId} ${line.paymentIntentId}`)).size).toBe(
    capture.lines.length,
  );
  for (const { intent, amount } of capture.cards) {
    const lines = capture.lines.filter((line) => line.paymentIntentId === intent.id);
    expect(sum(lines.map((line) => line.amount))).toBe(amount);
    expect(amount).toBeLessThanOrEqual(intent.amountCapturableCents);
  }
  for (const { lineId, paymentIntentId, amount } of capture.lines) {
    const line = held.lines.find(({ id }) => id === lineId) as SessionLine;
    const of = held.tenders.find((tender) => tender.lineId === lineId && tender.paymentIntentId === paymentIntentId);
    const isAlone = held.session.amountTotalCents === held.intents[0]?.amountCents;
    if (held.tenders.length === 0 && !isAlone) expect(paymentIntentId === 'health').toBe(line.amountEligibleCents > 0);
    else expect(of !== undefined).toBe(held.tenders.length > 0);
    expect(amount).toBeGreaterThan(0);
    expect(amount).toBeLessThanOrEqual(of === undefined ? restOf(line) : of.amountCents - of.capturedCents);
  }
  const left = componentsLeft(held);
  for (const name of names) {
    expect(capture[name]).toBeGreaterThanOrEqual(0);
    expect(capture[name]).toBeLessThanOrEqual(left[name]);
  }
}

/** Throws unless a capture takes all that remains, of each line and card, and leaves nothing held. */
function isWhole(held: HeldSession, capture: CaptureAllocation): void {
  isWithin(held, capture);
  const end = after(held, capture);
  expect(end.lines.map(restOf)).toEqual(held.lines.map(() => 0));
  expect([capture.amount, capture.isFinal, end.intents]).toEqual([remainingOf(held), true, []]);
}

/** Carries out what is accepted, and throws unless exactly what is above a limit is refused. */
function carryOut(start: HeldSession, steps: readonly Step[]): HeldSession {
  let held = start;
  for (const one of steps) {
    if (held.intents.length === 0) break;
    const instruction = instructionOf(held, one);
    const nothing = one.what !== 'amount' && instruction.entries.length === 0;
    if (nothing && names.every((name) => instruction[name] === undefined)) continue;
    const { total, isRefused, isSure } = limitsOf(held, instruction);
    const code = codeOf(() => allocateCapture(held, instruction));
    if (isSure) expect(code, JSON.stringify(instruction)).toBeUndefined();
    if (isRefused) expect(code).toMatch(/^capture_amount_(exceeds_authorized|invalid)$/);
    if (code !== undefined) continue;
    const capture = allocateCapture(held, instruction);
    expect(capture.amount).toBe(total);
    isWithin(held, capture);
    held = after(held, capture);
  }
  return held;
}

const noneInside = { tax: false, shipping: false, discount: false };
const amountOf = (rest: number, thousandths: number | null | undefined): number | null =>
  thousandths === null || thousandths === undefined ? null : ofPart(rest, Math.min(thousandths, 1_000));

describe('a capture by lines and components', () => {
  const isStated = fc.record({ tax: fc.boolean(), shipping: fc.boolean(), discount: fc.boolean() });

  it('of the whole order is accepted, whichever components are beside the lines, and takes what each card and line has [D14.303]', () => {
    fc.assert(
      fc.property(sessions, isStated, (held, beside) => {
        const whole = componentsLeft(held);
        const some = Object.fromEntries(names.flatMap((name) => (beside[name] ? [[name, whole[name]]] : [])));
        const lines = held.lines.map((line) => {
          const added = (beside.tax ? line.amountTaxCents : 0) + (beside.shipping ? line.amountShippingCents : 0);
          const cut = beside.discount ? line.amountDiscountCents : 0;
          return [line, line.amountTotalCents - added + cut] as const;
        });
        const capture = allocateCapture(held, stated(lines, some));
        isWhole(held, capture);
        expect(capture).toMatchObject(whole);
      }),
      { numRuns: 500 },
    );
  });

  it('or amounts refuses what is above a limit and nothing else, and all captures add up to the session [D14.100, D14.303]', () => {
    fc.assert(
      fc.property(sessions, fc.array(step, { maxLength: 8 }), (start, steps) => {
        const held = carryOut(start, steps);
        if (held.intents.length === 0) return;
        const last = allocateCapture(held, allHeld);
        isWhole(held, last);
        const { captured, session } = after(held, last);
        expect(session.amountReceivedCents).toBe(session.amountTotalCents);
        expect(captured).toEqual(componentsLeft(start));
      }),
      { numRuns: 500 },
    );
  });

  it('of all that remains after other captures is accepted, however the client has spread the components [D14.303]', () => {
    fc.assert(
      fc.property(sessions, fc.array(step, { maxLength: 5 }), (start, steps) => {
        const held = carryOut(start, steps);
        if (held.intents.length === 0) return;
        const [left, rests] = [componentsLeft(held), held.lines.map(restOf)];
        const tax = cents(Math.min(left.tax, remainingOf(held)));
        const shipping = cents(Math.min(left.shipping, remainingOf(held) - tax));
        const added = allocate(cents(tax + shipping), rests);
        const cut = allocate(
          left.discount,
          held.lines.map((line) => line.amountDiscountCents),
        );
        const lines = held.lines.map(
          (line, index) => [line, (rests[index] ?? 0) - (added[index] ?? 0) + (cut[index] ?? 0)] as const,
        );
        isWhole(held, allocateCapture(held, stated(lines, { tax, shipping, discount: left.discount })));
      }),
      { numRuns: 500 },
    );
  });

  it('takes of each price at least what it states, on its own line, whatever of the product is beside it [D14.303]', () => {
    const parts = fc.array(fc.option(part), { minLength: 6, maxLength: 6 });
    fc.assert(
      fc.property(sessions, parts, parts, (held, prices, products) => {
        const entered = held.lines.map((line, index) => ({ line, amount: amountOf(restOf(line), prices[index]) }));
        const left = (productId: string) =>
          sum(
            entered
              .filter(({ line }) => line.productId === productId)
              .map(({ line, amount }) => restOf(line) - (amount ?? 0)),
          );
        const ofProducts = [...new Set(held.lines.map(({ productId }) => productId))].map((productId, index) => ({
          productId,
          amount: amountOf(left(productId), products[index]),
        }));
        const entries = [...ofProducts, ...entered.map(({ line: { priceId }, amount }) => ({ priceId, amount }))]
          .filter(({ amount }) => amount !== null)
          .map((entry) => ({ ...entry, amount: cents(entry.amount ?? 0) }));
        const total = sum(entries.map(({ amount }) => amount));
        if (total === 0) return;
        const capture = allocateCapture(held, { entries, isFinal: false });
        isWithin(held, capture);
        const takenOf = (of: (line: SessionLine) => boolean) =>
          sum(
            capture.lines
              .filter(({ lineId }) => held.lines.some((line) => line.id === lineId && of(line)))
              .map(({ amount }) => amount),
          );
        for (const { line, amount } of entered)
          expect(takenOf(({ id }) => id === line.id)).toBeGreaterThanOrEqual(amount ?? 0);
        for (const { productId, amount } of ofProducts) {
          const ofPrices = sum(entered.map((one) => (one.line.productId === productId ? (one.amount ?? 0) : 0)));
          expect(takenOf((line) => line.productId === productId)).toBe(ofPrices + (amount ?? 0));
        }
      }),
      { numRuns: 500 },
    );
  });

  const takenAgain = (held: HeldSession, instruction: Parameters<typeof allocateCapture>[1]) => {
    try {
      return allocateCapture(held, instruction).lines;
    } catch {
      return [];
    }
  };

  it('of each parcel is accepted as the client rounds, in any order, and all of them take the session [D14.303]', () => {
    fc.assert(
      fc.property(orders, ({ held, parcels, spreadsLast }) => {
        const clients = clientAmounts(held, noneInside, spreadsLast);
        let now = held;
        for (const parcel of parcels) {
          const some = clients.filter((_, index) => parcel.includes(index));
          const component = (name: Name) => cents(sum(some.map((one) => one[name])));
          const total = sum(some.map(({ amount, tax, shipping, discount }) => amount + tax + shipping - discount));
          if (total === 0) continue;
          const instruction = stated(
            some.map(({ line, amount }) => [line, amount] as const),
            { tax: component('tax'), shipping: component('shipping'), discount: component('discount') },
          );
          const capture = allocateCapture(now, instruction);
          expect(capture.amount).toBe(total);
          isWithin(now, capture);
          now = after(now, capture);
          // A parcel that is sent again is not another one: rounding aside, it takes of no line that it does not name. Goods of a few cents are within rounding.
          const goods = sum(some.map(({ amount }) => amount));
          const others = (goods < 100 ? [] : takenAgain(now, instruction)).filter(
            ({ lineId }) => !some.some(({ line }) => line.id === lineId),
          );
          expect(sum(others.map(({ amount }) => amount))).toBeLessThanOrEqual(held.lines.length);
        }
        expect([now.lines.map(restOf), now.intents]).toEqual([held.lines.map(() => 0), []]);
        expect(componentsLeft(now)).toEqual({ tax: 0, shipping: 0, discount: 0 });
      }),
      { numRuns: 1_000 },
    );
  });

  it('of the whole order is accepted as the client rounds, with components inside the lines or beside them [D14.303]', () => {
    fc.assert(
      fc.property(orders, ({ held, inside, spreadsLast }) => {
        const clients = clientAmounts(held, inside, spreadsLast);
        const beside = names.filter((name) => !inside[name]);
        const some = beside.map((name) => [name, cents(sum(clients.map((one) => one[name])))]);
        const lines = clients.map(({ line, amount }) => [line, amount] as const);
        isWhole(held, allocateCapture(held, stated(lines, Object.fromEntries(some))));
      }),
      { numRuns: 500 },
    );
  });

  it('that is final leaves nothing held, whatever it takes [D14.101]', () => {
    fc.assert(
      fc.property(sessions, fc.array(step, { maxLength: 3 }), step, (start, steps, final) => {
        const held = carryOut(start, steps);
        if (held.intents.length === 0) return;
        const instruction = { ...instructionOf(held, final), isFinal: true };
        if (limitsOf(held, instruction).isRefused || codeOf(() => allocateCapture(held, instruction))) return;
        const capture = allocateCapture(held, instruction);
        expect([capture.isFinal, after(held, capture).intents]).toEqual([true, []]);
      }),
      { numRuns: 300 },
    );
  });
});
