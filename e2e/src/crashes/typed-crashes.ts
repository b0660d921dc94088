import { eachPass } from './plan.ts';

/** What a shopper types on the page: one card that pays everything, or a health card and another one. */
export type TypedPayment = 'one card' | 'one card, declined' | 'two cards' | 'two cards, the second declined';

/** A pass of a failpoint at which the process dies while a shopper pays with typed cards by one request of the page. */
export interface TypedCrash {
  readonly payment: TypedPayment;
  readonly failpoint: string;
  readonly skip: number;
}

const eachCard = [
  ...['plan.attempt_begun', 'charge.intent_created', 'charge.fence_passed', 'charge.processor_answered'],
  ...['charge.before_settle', 'charge.before_settle_commit', 'charge.settled'],
];
const charges = (cards: number) => Object.fromEntries(eachCard.map((failpoint) => [failpoint, cards]));
const hold = {
  'plan.hold_decided': 1,
  'hold.processor_answered': 1,
  'hold.before_record_commit': 1,
  'hold.recorded': 1,
};
const concluded = { 'plan.before_conclude_commit': 1 };

/** How often each payment passes each failpoint where nothing fails. `plan.reserved` is none of them: it is on the way of the test helper alone. */
export const typedPasses: Readonly<Record<TypedPayment, Readonly<Record<string, number>>>> = {
  'one card': charges(1),
  'one card, declined': { ...charges(1), ...concluded },
  'two cards': { ...charges(2), ...hold },
  'two cards, the second declined': { ...charges(2), ...hold, ...concluded },
};

/** Every pass of every payment. */
export const typedCrashes: readonly TypedCrash[] = (
  Object.entries(typedPasses) as [TypedPayment, Record<string, number>][]
).flatMap(([payment, passes]) => eachPass(passes).map((pass) => ({ payment, ...pass })));

const find = (payment: TypedPayment, failpoint: string, skip: number) =>
  typedCrashes.filter((crash) => crash.payment === payment && crash.failpoint === failpoint && crash.skip === skip);

/** What the short run of `npm test` tries of them: two cards, held and not recorded, and captured and not recorded. */
export const shortTypedCrashes: readonly TypedCrash[] = [
  ...find('two cards', 'charge.before_settle_commit', 0),
  ...find('two cards', 'hold.before_record_commit', 0),
];

/** The same for the short run in split, where the gateway sees the crash. */
export const shortSplitTypedCrashes: readonly TypedCrash[] = find('two cards', 'charge.before_settle_commit', 1);
