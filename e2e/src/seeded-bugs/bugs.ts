/** One change of the code. `find` must be there exactly once: a bug that can no longer be seeded is not a bug that was caught. */
export interface Edit {
  readonly file: string;
  readonly find: string;
  readonly replace: string;
}

/** A bug as somebody might write it, and the test that must not let it pass. */
export interface Bug {
  readonly name: string;
  readonly edits: readonly Edit[];
  readonly file: string;
  /** The test's name, as vitest's `-t` takes it. */
  readonly test: string;
  /** What the test must say: that it fails is not enough, it must be for this. */
  readonly caughtBy: RegExp;
}

const send = 'services/checkout/src/actions/send-attempt.ts';
const settle = 'services/checkout/src/actions/settle-attempt.ts';
const claim = 'services/checkout/src/actions/claim-charge.ts';
const attempts = 'services/checkout/src/store/charge-attempts.ts';
const migration = 'services/checkout/migrations/0010_charging.sql';
const lockSession =
  "    const session = attempt.purpose === 'session' ? await lockSession(tx, scope, attempt.subjectId) : undefined;\n";
const beginSettle = '  return withTx(context.database, scope, async (tx) => {\n';
const markSettled = 'markSettled(tx, scope, attempt.id, settlementOf(verdict))';

// The text that is looked for is itself a template.
const dollar = '$';

const freshKeys: readonly Edit[] = [
  {
    file: send,
    find: "  if (attempt.processorIntentId !== null) return { kind: 'created', intentId: attempt.processorIntentId };\n",
    replace: '',
  },
  {
    file: send,
    find: `\`${dollar}{attempt.id}:create:${dollar}{attempt.checks}\``,
    replace: 'crypto.randomUUID()',
  },
  {
    file: send,
    find: `\`${dollar}{attempt.id}:confirm:${dollar}{attempt.sends}\``,
    replace: 'crypto.randomUUID()',
  },
  {
    file: attempts,
    find: 'processor_intent_id = coalesce(processor_intent_id, f.intent_id)',
    replace: 'processor_intent_id = f.intent_id',
  },
];

/** The mistakes that these tests exist for. */
export const bugs: readonly Bug[] = [
  {
    name: 'each send goes out under a fresh key, to a new intent',
    edits: freshKeys,
    file: 'failpoints.all-in-one',
    test: 'a confirm converges: charged, not recorded',
    caughtBy: /charged_twice_at_the_processor|instead of 1 times/,
  },
  {
    name: 'an unknown outcome is taken for a failure',
    edits: [
      {
        file: send,
        find: 'return verdict === undefined ? unknown(context, scope, fenced) : ',
        replace:
          "return verdict === undefined ? { kind: 'verdict', attempt: fenced, verdict: { kind: 'failed', code: 'processing_error' } } : ",
      },
    ],
    file: 'failpoints.all-in-one',
    test: 'a confirm converges without a crash: drop_after',
    caughtBy: /answered 402|charge_not_recorded/,
  },
  {
    name: 'neither unique indexes nor the look at live attempts',
    edits: [
      {
        file: migration,
        find: 'create unique index charge_attempts_one_live',
        replace: 'create index charge_attempts_one_live',
      },
      {
        file: migration,
        find: 'create unique index charge_attempts_one_per_eligibility_record',
        replace: 'create index charge_attempts_one_per_eligibility_record',
      },
      {
        file: claim,
        find: "    if (attempt.status !== 'created' || !attempt.leaseDead) throw contended();\n",
        replace: '',
      },
    ],
    file: 'failpoints.all-in-one',
    test: 'another key waits while the outcome of the first is unknown',
    caughtBy: /expected 400, was answered 200|charged_twice/,
  },
  {
    name: 'no sweeper',
    edits: [
      {
        file: 'services/checkout/src/service.ts',
        find: '        sweepDueCharges(context, recovery),\n',
        replace: '',
      },
    ],
    file: 'failpoints.all-in-one',
    test: 'a confirm converges: before it is settled',
    caughtBy: /unsettled attempt_/,
  },
  {
    name: 'settled in two transactions',
    edits: [
      {
        file: settle,
        find: `${beginSettle}${lockSession}`,
        replace: `  const first = await withTx(context.database, scope, (tx) =>\n    ${markSettled},\n  );\n${beginSettle}${lockSession}`,
      },
      { file: settle, find: `    const first = await ${markSettled};\n`, replace: '' },
      // The process that claimed a confirm settles it by statements of its own.
      {
        file: settle,
        find: "  if (claimed === undefined || verdict.kind !== 'succeeded') return undefined;\n",
        replace:
          "  if (claimed === undefined || attempt.id !== '' || verdict.kind !== 'succeeded') return undefined;\n",
      },
    ],
    file: 'failpoints.all-in-one',
    test: 'a confirm converges: before the settlement commits',
    caughtBy: /intent_contradicts_its_attempt|answered 409/,
  },
  {
    name: 'a renewal that is resumed goes out under a fresh key, to a new intent',
    edits: freshKeys,
    file: 'killed-renewals',
    test: 'bill each period of 12 subscriptions × 4 months once',
    caughtBy: /is not that of attempt|charged_twice_at_the_processor/,
  },
  {
    name: 'a late renewal begins its period when it is made',
    edits: [
      {
        file: 'services/billing/src/domain/renewal.ts',
        find: '  const start = subscription.currentPeriodEnd;\n',
        replace: '  const start = at > subscription.currentPeriodEnd ? at : subscription.currentPeriodEnd;\n',
      },
    ],
    file: 'killed-renewals',
    test: 'bill each period of 12 subscriptions × 4 months once',
    caughtBy: /subscriptions are not as in the model/,
  },
];
