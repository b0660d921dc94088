import type { ProcessorFault } from './confirm-crashes.ts';

/** How the set-up of the card of a trial comes to its end. */
export type SetUpWay =
  /** Its bank asks nothing. */
  | 'plain'
  /** Its bank asks, and the customer answers. */
  | 'asked'
  /** The customer gives a card in the browser. */
  | 'given'
  /** They do so, and only the end of the trial learns of it. */
  | 'learned'
  /** The partner cancels the subscription. */
  | 'canceled'
  /** The trial is over, and nobody gave a card. */
  | 'over';

/** A place at which the process dies while the card of a trial is set up, or an answer of the processor that is lost. */
export interface SetUpCrash {
  readonly name: string;
  readonly way: SetUpWay;
  readonly component: 'billing' | 'checkout';
  readonly failpoint?: string;
  readonly fault?: ProcessorFault;
}

const inCheckout = (name: string, way: SetUpWay, failpoint: string): SetUpCrash => ({
  ...{ name, way, component: 'checkout', failpoint: `card_set_up.${failpoint}` },
});
const inBilling = (name: string, way: SetUpWay, failpoint: string): SetUpCrash => ({
  ...{ name, way, component: 'billing', failpoint: `set_up_outcome.${failpoint}` },
});
const lost = (way: SetUpWay, call: string, kind: string): SetUpCrash => ({
  ...{ name: `${call} ${kind}`, way, component: 'checkout', fault: { call, kind } },
});

/** Every named place of a set-up; some of them again on another way through. */
export const setUpCrashes: readonly SetUpCrash[] = [
  inCheckout('made at the processor, not recorded', 'given', 'intent_created'),
  inCheckout('confirmed, not recorded', 'plain', 'confirmed'),
  inBilling('saved, not recorded by billing', 'learned', 'answered'),
  inCheckout('about to be saved', 'given', 'before_save_commit'),
  { name: 'the processor’s customer made', way: 'given', component: 'checkout', failpoint: 'customer.made' },
  { name: 'the subscription written', way: 'given', component: 'billing', failpoint: 'subscription.written' },
  inCheckout('about to begin', 'given', 'before_begin_commit'),
  inCheckout('begun', 'asked', 'begun'),
  inCheckout('made, not recorded', 'plain', 'intent_created'),
  inCheckout('recorded, not confirmed', 'asked', 'intent_named'),
  inCheckout('recorded, not confirmed', 'plain', 'intent_named'),
  inCheckout('confirmed, not recorded', 'asked', 'confirmed'),
  inCheckout('about to be saved', 'plain', 'before_save_commit'),
  inCheckout('saved, not answered', 'plain', 'saved'),
  inCheckout('about to wait', 'given', 'before_wait_commit'),
  inCheckout('waiting, not answered', 'asked', 'waits'),
  inBilling('waiting, not answered', 'given', 'asked'),
  inCheckout('claimed by the job', 'given', 'claimed'),
  inCheckout('claimed by the job', 'asked', 'claimed'),
  inCheckout('about to be saved', 'asked', 'before_save_commit'),
  inCheckout('saved', 'given', 'saved'),
  inBilling('about to be recorded', 'asked', 'before_record_commit'),
  inBilling('about to be recorded', 'given', 'before_record_commit'),
  inCheckout('about to be saved', 'learned', 'before_save_commit'),
  inBilling('about to be recorded at the end of the trial', 'learned', 'before_record_commit'),
  inBilling('recorded at the end of the trial', 'learned', 'recorded'),
  inCheckout('about to be given up', 'canceled', 'before_give_up_commit'),
  inCheckout('claimed by the job', 'canceled', 'claimed'),
  inCheckout('canceled at the processor, not recorded', 'canceled', 'canceled'),
  inCheckout('about to end', 'canceled', 'before_end_commit'),
  inCheckout('ended', 'canceled', 'ended'),
  inCheckout('canceled at the processor, not recorded', 'over', 'canceled'),
  inCheckout('about to end', 'over', 'before_end_commit'),
  inCheckout('ended', 'over', 'ended'),
  inBilling('given up, the trial not ended', 'over', 'answered'),
  ...['drop_before', 'drop_after', 'error_before', 'error_after', 'in_progress'].flatMap((kind) => [
    lost('given', 'setup_intents.create', kind),
    lost('asked', 'setup_intents.confirm', kind),
    lost('canceled', 'setup_intents.cancel', kind),
    lost('over', 'setup_intents.cancel', kind),
  ]),
  lost('given', 'payment_methods.retrieve', 'drop_before'),
  lost('asked', 'setup_intents.retrieve', 'drop_before'),
];

/** What the short run of `npm test` tries of them. */
export const shortSetUpCrashes = setUpCrashes.slice(0, 3);
