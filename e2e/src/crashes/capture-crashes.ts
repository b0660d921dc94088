import { eachPass } from './plan.ts';

/** What is captured, and of which holds. */
export interface CaptureKind {
  readonly name: string;
  readonly cards: 'one' | 'two';
  /** A part that was captured before. */
  readonly before?: number;
  /** The part that is captured; everything that is held if there is none. */
  readonly amount?: number;
  readonly isFinal?: boolean;
  /** How often it passes each failpoint where nothing fails. */
  readonly passes: Readonly<Record<string, number>>;
}

/** A pass of a failpoint at which the process dies while a session is captured. */
export interface CaptureCrash {
  readonly kind: CaptureKind;
  readonly failpoint: string;
  readonly skip: number;
  /** The processor's answers are lost, so that the request ends without knowing. */
  readonly isAnswerLost?: boolean;
}

// What leaves a card held is claimed once more, after a look at the processor.
const claimed = (keyClaims: number) => ({
  'capture.before_claim': 1,
  'capture.key_claimed': keyClaims,
  'capture.before_claim_commit': 1,
  'capture.claimed': 1,
});
const holds = (count: number) => ({
  'hold.processor_answered': count,
  'hold.before_record_commit': count,
  'hold.recorded': count,
});
const partCents = 2_000;

/** Whole, in part, and the last part, of one card and of two. */
export const captureKinds: readonly CaptureKind[] = [
  { name: 'everything on one card', cards: 'one', passes: { ...claimed(1), ...holds(1) } },
  { name: 'a part of one card', cards: 'one', amount: partCents, passes: { ...claimed(3), ...holds(1) } },
  {
    ...{ name: 'a part of one card, the last', cards: 'one', amount: partCents, isFinal: true },
    passes: { ...claimed(1), ...holds(1) },
  },
  { name: 'everything on two cards', cards: 'two', passes: { ...claimed(2), ...holds(2) } },
  { name: 'a part of two cards', cards: 'two', amount: partCents, passes: { ...claimed(3), ...holds(2) } },
  {
    ...{ name: 'what is left of two cards', cards: 'two', before: partCents, isFinal: true },
    passes: { ...claimed(2), ...holds(2) },
  },
  {
    ...{ name: 'a part of two cards, the last', cards: 'two', amount: partCents, isFinal: true },
    passes: { ...claimed(2), ...holds(2) },
  },
];

/** Every pass of every kind, and where the processor's answers are lost. */
export const captureCrashes: readonly CaptureCrash[] = captureKinds.flatMap((kind) => [
  ...eachPass(kind.passes).map((pass) => ({ kind, ...pass })),
  { kind, failpoint: 'capture.key_released', skip: 0, isAnswerLost: true },
]);

const find = (name: string, failpoint: string, skip: number) =>
  captureCrashes.filter((one) => one.kind.name === name && one.failpoint === failpoint && one.skip === skip);

/** What the short run of `npm test` tries of them: the first of two cards is captured and recorded, the second one is not. */
export const shortCaptureCrashes: readonly CaptureCrash[] = find('a part of two cards, the last', 'hold.recorded', 0);
