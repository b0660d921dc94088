import { Failure } from '@eligo/failures';
import { allocate, cents, partOf, sumCents } from '@eligo/values';
import {
  type Allocation,
  type Components,
  componentsOf,
  type DividedLine,
  type DividedSession,
  fillRest,
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
 * Takes apart a capture that states lines, or components alone (decisions 14.303). What is all that remains, of entries of all
 * lines that have a rest, takes the rest of each line. Otherwise the amount of an entry is taken of its own lines. Tax and shipping are taken of the lines that are named, by their own tax and shipping; beyond that of the other lines, by theirs; and where these have no room, of any line that has.
 * The discount is subtracted from the named lines in the same way. Throws the refusals of the session.
 */
export function allocateStated(session: DividedSession, instruction: Instruction): Allocation {
  requireCountable(session, instruction);
  const entered = groupEntries(session, instruction.entries);
  const components = componentsOf(session, instruction);
  const { tax, shipping, discount } = components;
  const total = sumOf(instruction.entries, ({ amount }) => amount) + tax + shipping - discount;
  if (instruction.amount !== undefined && instruction.amount !== total) {
    throw new Failure(session.refusals.invalid, { detail: 'amount must equal the sum of the lines and components.' });
  }
  const remaining = sumCents(session.cards.map(restOfCard));
  requireWithin(session, total, remaining);
  const fills = new LineFills(session);
  if (total === remaining && isOfAllLines(session, entered)) fillRest(fills, session);
  else for (const { lines, amount } of divide(session, entered, components)) fills.fill(lines, amount);
  return finish(fills, session, instruction, components);
}

/** What is to be taken of some lines together, which are filled in their order. */
interface LinesPart {
  readonly lines: readonly DividedLine[];
  readonly amount: number;
}

function divide(session: DividedSession, entered: readonly Entered[], components: Components): LinesPart[] {
  const places = placesOf(session, entered, components);
  const named = places.filter(({ isNamed }) => isNamed);
  const others = places.filter(({ isNamed }) => !isNamed);
  let loose = fitToLines(session, named, components);

  let discount = components.discount - sumOf(named, ({ taken }) => taken.discount);
  discount = spread(named, discount, 'discount', (place) => shareOf(place, 'discount', components));
  discount = spread(named, discount, 'discount', ({ own }) => own.discount);
  discount = spread(named, discount, 'discount', ({ stated }) => stated);
  // What the lines do not have of it is subtracted from tax and shipping.
  const offTax = Math.min(discount, components.tax);
  const added = { tax: components.tax - offTax, shipping: components.shipping - (discount - offTax) };
  let withoutRoom = 0;
  for (const name of addedNames) {
    const beyond = spread(named, added[name], name, (place) => shareOf(place, name, components));
    const left = spread(named, beyond, name, ({ own }) => own[name]);
    const ofOthers = Math.min(left, Math.max(0, added[name] - sumOf(named, ({ own }) => own[name])));
    withoutRoom += left - ofOthers;
    loose += spread(others, ofOthers, name, ({ own }) => own[name]);
  }
  withoutRoom = spread(named, withoutRoom, 'loose', ({ rest }) => rest);
  // The client may have rounded another way: a cent of each entry is taken of other lines.
  if (withoutRoom > sumOf(named, (place) => 1 + movedOf(session, place)))
    throw includesComponent(session, named, components);
  loose += withoutRoom;
  const cards = new Set(named.flatMap(({ lines }) => lines.map((line) => line.paymentIntentId)));
  const sameCard = others.filter(({ lines }) => lines.some((line) => cards.has(line.paymentIntentId)));
  for (const some of [named, sameCard, others]) loose = spread(some, loose, 'loose', ({ rest }) => rest);
  return places.map((place) => ({ lines: place.lines, amount: takenOf(place) }));
}

function includesComponent({ refusals }: DividedSession, named: readonly Place[], components: Components): Failure {
  const without = (name: Added) =>
    components[name] > 0 ? named.find(({ own, taken }) => own[name] > taken[name]) : undefined;
  const name = addedNames.find((one) => without(one) !== undefined) ?? 'tax';
  const detail = `The amount_to_capture of ${(without(name) ?? named[0])?.id} includes its ${name}. Lower amount_to_capture, or omit amount_${name}.`;
  return new Failure(refusals.exceeds, { detail });
}

/** The lines of an entry, or a line that no entry names. */
interface Place {
  /** The price or the product, as the entry names it. */
  readonly id: string;
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
type Added = Exclude<Name, 'discount'>;
const addedNames = ['tax', 'shipping'] as const;

function takenOf({ stated, taken: { tax, shipping, discount, loose } }: Place): number {
  return stated - discount + tax + shipping + loose;
}

// Takes as much of an amount as the places have, each up to its limit for it, and returns what is left.
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

// What is stated of a line is no more than remains of it and the discount that is subtracted. Returns the cents of the discount that the client divided another way: other lines have them.
function fitToLines(session: DividedSession, named: readonly Place[], { discount }: Components): number {
  let [loose, allowed, left] = [0, 0, discount as number];
  for (const place of named) {
    const excess = Math.max(0, place.stated - place.rest);
    // Its whole discount: an earlier capture may have taken of the line without any.
    const whole = sumOf(place.lines, (line) => line.discountCents);
    const reduced = Math.min(excess, left, whole);
    const beforeDiscount = sumOf(place.lines, (line) => line.limitCents) + whole;
    // Of one cent the client may state none.
    allowed += (place.stated > 0 && (whole === 1 || (discount > 0 && whole > 0)) ? 1 : 0) + movedOf(session, place);
    const short = excess - reduced;
    if (short > 0 && (loose + short > allowed || place.stated > beforeDiscount)) {
      throw exceeds(session, place.id, place.stated - short, discount);
    }
    place.taken.discount = reduced;
    place.stated -= short;
    left -= reduced;
    loose += short;
  }
  return loose;
}

// The cents that earlier captures took of a line for the rounding of others: one of each other line at most.
function movedOf({ lines }: DividedSession, place: Place): number {
  const taken = sumOf(place.lines, (line) => line.takenCents);
  return taken < lines.length ? taken : 0;
}

function exceeds({ refusals }: DividedSession, id: string, most: number, discount: number): Failure {
  const beside = discount > 0 ? ' with this amount_discount' : '';
  const detail = `At most ${most} can be captured for ${id}${beside}. Lower amount_to_capture, or omit line_items to capture everything.`;
  return new Failure(refusals.exceeds, { detail });
}

function placesOf(session: DividedSession, entered: readonly Entered[], components: Components): Place[] {
  const own = ownOfLines(session);
  const place = (id: string, lines: readonly DividedLine[], stated: number | undefined): Place => {
    const sum = (name: Name) => sumOf(lines, (line) => (restOfLine(line) > 0 ? (own.get(line)?.[name] ?? 0) : 0));
    return {
      ...{ id, lines, isNamed: stated !== undefined, stated: stated ?? 0, rest: sumOf(lines, restOfLine) },
      own: { tax: sum('tax'), shipping: sum('shipping'), discount: sum('discount') },
      taken: { tax: 0, shipping: 0, discount: 0, loose: 0 },
    };
  };
  const places = entered.filter(({ by }) => by === 'price').map(({ id, lines, amount }) => place(id, lines, amount));
  for (const { by, id, lines, amount } of entered) {
    if (by === 'price') continue;
    const ofPrices = places.filter((one) => one.lines.some((line) => lines.includes(line)));
    if (ofPrices.length === 0) {
      places.push(place(id, lines, amount));
      continue;
    }
    const ofProduct = [...Map.groupBy(lines, ({ priceId }) => priceId).values()].map(
      (some) => ofPrices.find((one) => one.lines.includes(some[0] as DividedLine)) ?? place(id, some, 0),
    );
    places.push(...ofProduct.filter((one) => !places.includes(one)));
    addProduct(session, ofProduct, { id, amount }, components);
  }
  const named = new Set(places.flatMap(({ lines }) => lines));
  const rest = session.lines.filter((line) => !named.has(line));
  return [
    ...places,
    ...[...Map.groupBy(rest, (line) => line.lineId ?? line.id).values()].map((lines) => place('', lines, undefined)),
  ];
}

// A product that is named beside some of its prices has what their entries leave, in the order of the lines; then the lines' discounts.
function addProduct(
  session: DividedSession,
  places: readonly Place[],
  { id, amount }: { readonly id: string; readonly amount: number },
  { discount }: Components,
): void {
  const room = [
    ({ rest }: Place) => rest,
    ({ rest, lines }: Place) => rest + (discount > 0 ? sumOf(lines, (line) => line.discountCents) : 0),
  ];
  let left = amount;
  for (const limitOf of room) {
    for (const place of places) {
      const part = Math.min(left, Math.max(0, limitOf(place) - place.stated));
      place.stated += part;
      left -= part;
    }
  }
  if (left > 0) throw exceeds(session, id, amount - left, discount);
}

/** What the entries of a price, or of a product, state together. */
interface Entered extends LinesPart {
  readonly by: 'price' | 'product';
  readonly id: string;
}

function groupEntries({ lines, refusals }: DividedSession, entries: readonly LineEntry[]): Entered[] {
  const groups = new Map<string, Entered>();
  for (const [index, entry] of entries.entries()) {
    const by = entry.priceId === undefined ? 'product' : 'price';
    const id = entry.priceId ?? entry.productId ?? '';
    const found = lines.filter((line) => line[`${by}Id`] === id);
    if (found.length === 0) {
      const loc = ['body', 'checkout_session', 'line_items', String(index), by];
      throw Failure.invalid(loc, `${by}_not_found`, `${by}_not_found: ${id}`);
    }
    if (entry.amount < 0) {
      const detail = `amount_to_capture of line_items.${index} (${id}) must not be negative.`;
      throw new Failure(refusals.invalid, { detail });
    }
    const key = `${by} ${id}`;
    groups.set(key, { by, id, lines: found, amount: (groups.get(key)?.amount ?? 0) + entry.amount });
  }
  return [...groups.values()];
}

// What remains of the components of each line. The captures before this one are known by their components and by their lines: each line has its share of them.
function ownOfLines({ lines, taken }: DividedSession): ReadonlyMap<DividedLine, Numbers> {
  const own = new Map(lines.map((line) => [line, { tax: 0, shipping: 0, discount: 0 }]));
  for (const name of names) {
    const whole = lines.map((line) => line[`${name}Cents`]);
    const shares = lines.map((line, index) => boundedPartOf(whole[index] ?? 0, line.takenCents, line.limitCents));
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
  return boundedPartOf(own[name], stated, rest + beside);
}

function boundedPartOf(component: number, part: number, whole: number): number {
  if (whole <= 0) return part > 0 ? component : 0;
  return partOf(component, Math.min(part, whole), whole);
}

function sumOf<T>(list: readonly T[], amountOf: (one: T) => number): number {
  return list.reduce((sum, one) => sum + amountOf(one), 0);
}

/**
 * Whether entries that add up to all that remains are of all lines that have a rest. Their amounts then differ from the lines by their discount, which
 * the client may have stated before, and by the client's rounding, a cent for each line. An entry that is sent again is of its own line alone.
 */
function isOfAllLines({ lines }: DividedSession, entered: readonly Entered[]): boolean {
  const named = new Set(entered.flatMap((one) => (one.amount > 0 ? one.lines : [])));
  if (lines.every((line) => restOfLine(line) === 0 || named.has(line))) return true;
  if ([...named].every((line) => restOfLine(line) === 0)) return false;
  const room = (line: DividedLine) => restOfLine(line) + line.discountCents;
  const excess = sumOf(entered, ({ by, amount, lines: own }) => {
    // A product counts with the entries of its prices.
    const ofPrice = (other: Entered) => other.by === 'price' && other.lines.every((line) => own.includes(line));
    const ofPrices = by === 'product' ? sumOf(entered.filter(ofPrice), (price) => price.amount) : 0;
    return Math.max(0, amount + ofPrices - sumOf(own, room));
  });
  return excess <= lines.length;
}
