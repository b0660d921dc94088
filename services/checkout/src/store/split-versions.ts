import { type Scope, scoped, type Tx } from '@eligo/postgres';
import type { Session, SessionLine } from '../domain/session.ts';
import type { SplitVersion } from '../domain/split-version.ts';

/**
 * Appends a version of a session's split, and makes the session open with it. The first version, as the session was created, is written beside the second.
 * Throws when the row is no longer the one that was read. The caller holds the session's row.
 */
export async function reopenWithSplit(
  tx: Tx,
  scope: Scope,
  before: Session,
  lines: readonly SessionLine[],
  next: SplitVersion & Pick<Session, 'expiresAt' | 'nextAction'> & { readonly id: string; readonly at: Date },
): Promise<Session> {
  const latest = (await tx.row(selectLatest, scope, [before.id]))?.version ?? null;
  if (latest === null) {
    await tx.execute(insertVersion, scope, [
      ...[before.id, 1, before.splitCartId, 'created', before.amountEligibleCents, before.createdAt],
      JSON.stringify(lines),
    ]);
  }
  const version = (latest ?? 1) + 1;
  await tx.execute(insertVersion, scope, [
    ...[before.id, version, next.id, 'letter_denied', next.eligibleCents, next.at],
    JSON.stringify(next.lines),
  ]);
  await tx.execute(followLines, scope, [before.id, version]);
  const written = await tx.execute(reopen, scope, [
    ...[before.id, before.version, next.id, next.eligibleCents, next.expiresAt, next.nextAction],
  ]);
  if (written !== 1) throw new Error('A session changed after it was read');
  return {
    ...before,
    status: 'open',
    splitCartId: next.id,
    amountEligibleCents: next.eligibleCents,
    letterRequired: false,
    expiresAt: next.expiresAt,
    nextAction: next.nextAction,
    version: before.version + 1n,
  };
}

const selectLatest = scoped<{ version: number }>(
  'split_versions.latest',
  `select version from checkout.session_split_versions where account_id = $1 and test_mode = $2 and session_id = $3
   order by version desc limit 1`,
);

const insertVersion = scoped<never>(
  'split_versions.insert',
  `with version as (
     insert into checkout.session_split_versions (account_id, test_mode, session_id, version, id, cause, eligible_cents, created_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8))
   insert into checkout.session_split_lines (account_id, test_mode, session_id, version, line_id, amount_eligible_cents, eligibility_class,
     eligibility_rule, eligibility_rule_version, rationale)
   select $1, $2, $3, $4, l.* from json_to_recordset($9::json) as l (
     id text, "amountEligibleCents" bigint, "eligibilityClass" text, "eligibilityRule" text, "eligibilityRuleVersion" text, rationale text)`,
);

const followLines = scoped<never>(
  'split_versions.follow_lines',
  `update checkout.session_lines l set amount_eligible_cents = v.amount_eligible_cents, eligibility_class = v.eligibility_class,
     eligibility_rule = v.eligibility_rule, eligibility_rule_version = v.eligibility_rule_version, rationale = v.rationale
   from checkout.session_split_lines v
   where l.account_id = $1 and l.test_mode = $2 and l.session_id = $3 and l.eligibility_class is distinct from v.eligibility_class
     and v.account_id = $1 and v.test_mode = $2 and v.session_id = $3 and v.version = $4 and v.line_id = l.id`,
);

const reopen = scoped<never>(
  'split_versions.reopen',
  `update checkout.sessions set status = 'open', split_cart_id = $5, amount_eligible_cents = $6, letter_required = false, expires_at = $7,
     next_action = $8, version = version + 1
   where account_id = $1 and test_mode = $2 and id = $3 and version = $4 and status = 'paid'`,
);
