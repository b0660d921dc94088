import { Failure } from '@eligo/failures';
import { allocate, cents, sumCents } from '@eligo/values';
import {
  type Allocation,
  type Components,
  componentsOf,
  type DividedLine,
  type DividedSession,
  finish,
  type Instruction,
  type LineEntry,
  LineFills,
  requireCountable,
  requireWithin,
  restOfCard,
  restOfLine,
} from './line-allocation.ts';

/**
 * Takes apart a capture that states lines, or components alone (decisions 14.303). Tax and shipping are taken of the lines that are named, by their own tax and shipping; beyond that
 * of the other lines, by theirs; and where these have no room, of any line that has. The discount is subtracted from the named lines in the same way. So only what is more than
 * remains is refused: of the session, a component, a line beside its own discount, or the named lines beside the whole discount. Of what takes all that remains, each entry
 * may be off by a cent. Throws the refusals of the session.
 */
export function allocateStated(session: DividedSession, instruction: Instruction): Allocation {
  requireCountable(session, instruction);
  const components = componentsOf(session, instruction);
  const { tax, shipping, discount } = components;
  const total = sumOf(instruction.entries, ({ amount }) => amount) + tax + shipping - discount;
  if (instruction.amount !== undefined && instruction.amount !== total) {
    throw new Failure(session.refusals.invalid, { detail: 'amount must equal the sum of the lines and components.' });
  }
  requireWithin(session, total, sumCents(session.cards.map(restOfCard)));
  const fills = new LineFills(session);
  for (const { lines, amount } of divide(session, instruction.entries, components)) fills.fill(lines, amount);
  return finish(fills, session, instruction, components);
}

/** What is to be taken of some lines together, which are filled in their order. */
interface LinesPart {
  readonly lines: readonly DividedLine[];
  readonly amount: number;
}

function divide(session: DividedSession, entries: readonly LineEntry[], components: Components): LinesPart[] {
  const places = placesOf(session, entries);
  const named = places.filter(({ isNamed }) => isNamed);
  const others = places.filter(({ isNamed }) => !isNamed);
  let loose = fitToLines(session, named, others, components);

  let discount = components.discount - sumOf(named, ({ taken }) => taken.discount);
  discount = spread(named, discount, 'discount', (place) => shareOf(place, 'discount', components));
  discount = spread(named, discount, 'discount', ({ own }) => own.discount);
  discount = spread(named, discount, 'discount', ({ stated }) => stated);
  // What the lines do not have of it is subtracted from tax and shipping.
  const offTax = Math.min(discount, components.tax);
  const added = { tax: components.tax - offTax, shipping: components.shipping - (discount - offTax) };
  for (const name of ['tax', 'shipping'] as const) {
    const beyond = spread(named, added[name], name, (place) => shareOf(place, name, components));
    const ofOthers = spread(named, beyond, name, ({ own }) => own[name]);
    loose += spread(others, ofOthers, name, ({ own }) => own[name]);
  }
  const cards = new Set(named.flatMap(({ lines }) => lines.map((line) => line.paymentIntentId)));
  const sameCard = others.filter(({ lines }) => lines.some((line) => cards.has(line.paymentIntentId)));
  for (const some of [named, sameCard, others]) loose = spread(some, loose, 'loose', ({ rest }) => rest);
  return places.map((place) => ({ lines: place.lines, amount: takenOf(place) }));
}

/** The lines of an entry, or a line that no entry names. */
interface Place {
  readonly lines: readonly DividedLine[];
  readonly isNamed: boolean;
  /** What is stated of it, and fits. */
  stated: number;
  readonly rest: number;
  /** What of its rest is tax and shipping, and what discount was subtracted for it. */
  readonly own: Numbers;
  /** What of the components it takes or gives up; and, loose, what has no line of its own. */
  readonly taken: Numbers & { loose: number };
}

interface Numbers {
  tax: number;
  shipping: number;
  discount: number;
}
type Name = keyof Numbers;
const names = ['tax', 'shipping', 'discount'] as const;

function takenOf({ stated, taken: { tax, shipping, discount, loose } }: Place): number {
  return stated - discount + tax + shipping + loose;
}

// Takes as much of an amount as the places have, each up to its limit for it, and answers what is left.
function spread(
  places: readonly Place[],
  amount: number,
  name: Name | 'loose',
  limitOf: (place: Place) => number,
): number {
  const limits = places.map((place) => {
    const room = name === 'discount' ? place.stated - place.taken.discount : place.rest - takenOf(place);
    return Math.max(0, Math.min(limitOf(place) - place.taken[name], room));
  });
  const parts = within(amount, limits);
  for (const [index, place] of places.entries()) place.taken[name] += parts[index] ?? 0;
  return amount - sumOf(parts, (part) => part);
}

// What is stated of a line is no more than remains of it and the discount that is subtracted. Answers the cents by which the client rounded another way: other lines have them.
function fitToLines(
  { refusals }: DividedSession,
  named: readonly Place[],
  others: readonly Place[],
  { tax, shipping, discount }: Components,
): number {
  const rest = sumOf([...named, ...others], (place) => place.rest);
  const isWhole = sumOf(named, ({ stated }) => stated) + tax + shipping - discount === rest;
  let [loose, left] = [0, discount as number];
  for (const place of named) {
    const excess = Math.max(0, place.stated - place.rest);
    // Its whole discount: an earlier capture may have taken of the line without any.
    const reduced = Math.min(
      excess,
      left,
      sumOf(place.lines, (line) => line.discountCents),
    );
    if (excess - reduced > (isWhole ? 1 : 0)) {
      const detail = `More is asked for ${place.lines[0]?.priceId} than remains of it.`;
      throw new Failure(refusals.exceeds, { detail });
    }
    place.taken.discount = reduced;
    place.stated -= excess - reduced;
    left -= reduced;
    loose += excess - reduced;
  }
  return loose;
}

function placesOf(session: DividedSession, entries: readonly LineEntry[]): Place[] {
  const own = ownOfLines(session);
  const place = (lines: readonly DividedLine[], stated: number | undefined): Place => {
    const sum = (name: Name) => sumOf(lines, (line) => (restOfLine(line) > 0 ? (own.get(line)?.[name] ?? 0) : 0));
    return {
      ...{ lines, isNamed: stated !== undefined, stated: stated ?? 0, rest: sumOf(lines, restOfLine) },
      own: { tax: sum('tax'), shipping: sum('shipping'), discount: sum('discount') },
      taken: { tax: 0, shipping: 0, discount: 0, loose: 0 },
    };
  };
  const groups = groupEntries(session, entries);
  const named = new Set(groups.flatMap(({ lines }) => lines));
  const rest = session.lines.filter((line) => !named.has(line));
  return [
    ...groups.map(({ lines, amount }) => place(lines, amount)),
    ...[...Map.groupBy(rest, (line) => line.lineId ?? line.id).values()].map((lines) => place(lines, undefined)),
  ];
}

// By price, and by product. A product that is named beside one of its prices is one with it: the lines of the price come first.
function groupEntries({ lines, refusals }: DividedSession, entries: readonly LineEntry[]): LinesPart[] {
  let groups: LinesPart[] = [];
  for (const entry of entries.toSorted((a, b) => Number(a.priceId === undefined) - Number(b.priceId === undefined))) {
    const by = entry.priceId === undefined ? 'product' : 'price';
    const id = entry.priceId ?? entry.productId ?? '';
    const found = lines.filter((line) => line[`${by}Id`] === id);
    if (found.length === 0) {
      const loc = ['body', 'checkout_session', 'line_items', String(entries.indexOf(entry)), by];
      throw Failure.invalid(loc, `${by}_not_found`, `${by}_not_found: ${id}`);
    }
    if (entry.amount < 0) throw new Failure(refusals.invalid);
    const known = groups.filter((group) => group.lines.some((line) => found.includes(line)));
    groups = [
      ...groups.filter((group) => !known.includes(group)),
      {
        lines: [...new Set([...known.flatMap((group) => group.lines), ...found])],
        amount: sumOf(known, ({ amount }) => amount) + entry.amount,
      },
    ];
  }
  return groups;
}

// What remains of the components of each line. The captures before this one are known by their components and by their lines: each line has its share of them.
function ownOfLines({ lines, taken }: DividedSession): ReadonlyMap<DividedLine, Numbers> {
  const own = new Map(lines.map((line) => [line, { tax: 0, shipping: 0, discount: 0 }]));
  for (const name of names) {
    const whole = lines.map((line) => line[`${name}Cents`]);
    const shares = lines.map((line, index) => partOf(whole[index] ?? 0, line.takenCents, line.limitCents));
    const byShare = within(taken[name], shares);
    const beyond = within(
      taken[name] - sumOf(byShare, (part) => part),
      whole.map((all, index) => all - (byShare[index] ?? 0)),
    );
    for (const [index, line] of lines.entries()) {
      const rest = (whole[index] ?? 0) - (byShare[index] ?? 0) - (beyond[index] ?? 0);
      own.set(line, { ...(own.get(line) as Numbers), [name]: rest });
    }
  }
  return own;
}

// An amount in proportion to limits, and no more than these.
function within(amount: number, limits: readonly number[]): number[] {
  const given = Math.min(
    amount,
    sumOf(limits, (limit) => limit),
  );
  return given === 0 ? limits.map(() => 0) : allocate(cents(given), limits);
}

// Of a component of a place, what belongs to the part that is stated: the components that are stated are beside the lines.
function shareOf({ own, rest, stated }: Place, name: Name, { tax, shipping, discount }: Components): number {
  const beside = (discount > 0 ? own.discount : 0) - (tax > 0 ? own.tax : 0) - (shipping > 0 ? own.shipping : 0);
  return partOf(own[name], stated, rest + beside);
}

function partOf(component: number, part: number, whole: number): number {
  if (whole <= 0) return part > 0 ? component : 0;
  return Number((BigInt(component) * BigInt(Math.min(part, whole))) / BigInt(whole));
}

function sumOf<T>(list: readonly T[], amountOf: (one: T) => number): number {
  return list.reduce((sum, one) => sum + amountOf(one), 0);
}
