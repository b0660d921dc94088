import { eachPass } from './plan.ts';

/** A payment on the page that the shopper makes in two requests. */
export type SteppedPayment =
  | 'the health card, then the other one'
  | 'a health card that is approved for a part, then another one'
  | 'a card whose bank confirms it'
  | 'a card whose bank refuses it'
  | 'a card that is given up while its bank waits';

/** A pass of a failpoint at which the process dies in one of the two requests. */
export interface SteppedCrash {
  readonly payment: SteppedPayment;
  readonly step: 1 | 2;
  readonly failpoint: string;
  readonly skip: number;
}

const once = (...failpoints: string[]) => Object.fromEntries(failpoints.map((failpoint) => [failpoint, 1]));
const sent = ['plan.attempt_begun', 'charge.intent_created', 'charge.fence_passed', 'charge.processor_answered'];
const settled = ['charge.before_settle', 'charge.before_settle_commit', 'charge.settled'];
const hold = ['hold.processor_answered', 'hold.before_record_commit', 'hold.recorded'];
const twice = (...failpoints: string[]) => Object.fromEntries(failpoints.map((failpoint) => [failpoint, 2]));

const first = once('plan.reserved', ...sent, ...settled, 'plan.before_conclude_commit');
const second = { ...first, ...once('plan.hold_decided', ...hold) };
const asked = { ...twice(...sent), ...once(...settled, 'authentication.asked') };
const resumed = once('authentication.claimed', 'authentication.settled', ...settled, 'plan.hold_decided', ...hold);
const looked = once('charge.intent_created', 'charge.fence_passed', 'charge.processor_answered');

/** How often each request passes each failpoint where nothing fails. */
export const steppedPasses: Readonly<Record<SteppedPayment, readonly [first: Passes, second: Passes]>> = {
  'the health card, then the other one': [first, second],
  'a health card that is approved for a part, then another one': [first, { ...second, ...twice(...hold) }],
  'a card whose bank confirms it': [asked, { ...resumed, ...looked, ...once('plan.before_conclude_commit') }],
  'a card whose bank refuses it': [asked, { ...resumed, ...looked, ...once('plan.before_conclude_commit') }],
  'a card that is given up while its bank waits': [asked, { ...resumed, ...once('plan.before_conclude_commit') }],
};
type Passes = Readonly<Record<string, number>>;

/** Every pass of both requests of every payment. */
export const steppedCrashes: readonly SteppedCrash[] = (
  Object.entries(steppedPasses) as [SteppedPayment, readonly [Passes, Passes]][]
).flatMap(([payment, passes]) =>
  ([1, 2] as const).flatMap((step) => eachPass(passes[step - 1] ?? {}).map((pass) => ({ payment, step, ...pass }))),
);

/** What the short run of `npm test` tries of them: the bank was asked, and nobody has told the shopper. */
export const shortSteppedCrashes: readonly SteppedCrash[] = steppedCrashes.filter(
  ({ payment, failpoint }) => payment === 'a card whose bank confirms it' && failpoint === 'authentication.asked',
);
